"""The completion scripts of each shell, generated from the tree of commands. Only live names need Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from saffron.cli.completion.kinds import LIVE
from saffron.cli.completion.tree import FILES, Command

_BASH = """
_saffron() {
  local IFS=$'\\n' at="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if _saffron_is "${at:+$at }${COMP_WORDS[i]}"; then at="${at:+$at }${COMP_WORDS[i]}"; fi
  done
  local found=$(_saffron_words "$at" "${COMP_WORDS[COMP_CWORD-1]}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}")
  COMPREPLY=($(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _saffron saffron
"""
_ZSH = """
_saffron() {
  local at="" i
  for ((i = 2; i < CURRENT; i++)); do
    if _saffron_is "${at:+$at }${words[i]}"; then at="${at:+$at }${words[i]}"; fi
  done
  local -a found
  found=(${(f)"$(_saffron_words "$at" "${words[CURRENT-1]}" "${words[1]}" "${words[CURRENT]}")"})
  if (( ${#found} )); then compadd -- $found; else _files; fi
}
if [[ "$funcstack[1]" = _saffron ]]; then
  _saffron "$@" # found in fpath: read as the function itself when it is first asked for
else
  compdef _saffron saffron
fi
"""
_FISH = """
function __saffron_at # is $argv[1] the command that has been typed so far?
    set -l at ""
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$at $word")
        if contains -- $next {known}
            set at $next
        end
    end
    test "$at" = "$argv[1]"
end
"""
_COMMON = """
_saffron_is() {{ # is $1 a command?
  case "$1" in
{known}) true ;;
    *) false ;;
  esac
}}
_saffron_words() {{ # $1: the command so far, $2: the word before, $3: the program, $4: what is completed
  case "$1 $2" in
{values}
  esac
  case "$4" in
    -*) case "$1" in
{options}
    esac ;;
    *) case "$1" in
{words}
    esac ;;
  esac
}}
"""


def script(shell: str, commands: Sequence[Command], names: Mapping[str, Sequence[str]]) -> str:
    """The output of `saffron completion SHELL`."""
    if shell == "fish":
        return _fish(commands, names)
    head = "# Completion of saffron: written by `saffron completion` for this version.\n"
    if shell == "zsh":
        return "#compdef saffron\n" + head + _common(commands, names).lstrip() + _ZSH.lstrip()
    return head + _common(commands, names).lstrip() + _BASH.lstrip()


def _common(commands: Sequence[Command], names: Mapping[str, Sequence[str]]) -> str:
    """The part that bash and zsh share: the words that may come."""
    by_kind: dict[str, list[str]] = {}
    for one in commands:
        for option, kind in one.options.items():
            if kind is not None:
                by_kind.setdefault(kind, []).append(f'"{one.path} {option}"')
    known = " | ".join(f'"{one.path}"' for one in commands if one.path)
    values = [f"    {' | '.join(places)}) {_given(kind, names)}return ;;" for kind, places in sorted(by_kind.items())]
    options = [f'      "{one.path}") {_printed(one.options)} ;;' for one in commands]
    words = [f'      "{one.path}") {_first(one, names)} ;;' for one in commands if one.words or one.takes]
    return _COMMON.replace("{known}", f"    {known}").replace("{values}", "\n".join(values)).replace(
        "{options}", "\n".join(options)
    ).replace("{words}", "\n".join(words)).replace("{{", "{").replace("}}", "}")  # fmt: skip


def _first(command: Command, names: Mapping[str, Sequence[str]]) -> str:
    if command.words:
        return _printed(command.words)
    return _given(command.takes or FILES, names).rstrip("; ") or ":"


def _given(kind: str, names: Mapping[str, Sequence[str]]) -> str:
    """A command that prints the names of a kind; empty for files, which the shell completes itself."""
    if kind in LIVE:
        return f'"$3" completion {kind} 2>/dev/null; '
    return f"{_printed(names[kind])}; " if names.get(kind) else ""


def _printed(words: Sequence[str] | Mapping[str, object]) -> str:
    return "printf '%s\\n' " + " ".join(words)


def _fish(commands: Sequence[Command], names: Mapping[str, Sequence[str]]) -> str:
    """The script of fish, which completes files where no rule applies."""
    known = " ".join(f'"{one.path}"' for one in commands if one.path)
    lines = ["# Completion of saffron: written by `saffron completion` for this version."]
    lines += _FISH.strip().replace("{known}", known).split("\n")
    for one in commands:
        here = f'__saffron_at "{one.path}"'
        if one.words:
            lines.append(f"complete -c saffron -f -n '{here}' -a '{' '.join(one.words)}'")
        elif one.takes not in (None, FILES):
            lines.append(f"complete -c saffron -f -n '{here}' -a '{_fish_names(one.takes or '', names)}'")
        for option, kind in one.options.items():
            spelt = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            given = "" if kind is None else " -r" if kind == FILES else f" -x -a '{_fish_names(kind, names)}'"
            lines.append(f"complete -c saffron -n '{here}' {spelt}{given}")
    return "\n".join(lines) + "\n"


def _fish_names(kind: str, names: Mapping[str, Sequence[str]]) -> str:
    return f"(saffron completion {kind} 2>/dev/null)" if kind in LIVE else " ".join(names.get(kind, ()))
