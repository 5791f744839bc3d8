"""The parser's position in the tokens, with the moves and errors that all parsers share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from saffron.carets import quoted
from saffron.errors import QueryError
from saffron.language.syntax.lexing.tokens import Token, name_text, tokenize
from saffron.language.syntax.tree import Span
from saffron.schema.numbers import EXACT, LIMIT, number_of_text

DEPTH_LIMIT = 64
"""Deepest nesting of brackets, prefixes and operators. It keeps recursion over the tree below Python's stack limit."""

_TOO_LARGE = "Whole numbers have 63 bits, others are 64-bit floats, as 1e30 or 9223372036854775808.0."
_NAME_WITH_SIGNS = re.compile(r"\w[\w.$@:/-]*")
"""A name as other systems write it, such as com.acme.paid."""

RESERVED = frozenset({"pattern", "where", "within", "return", "having", "and", "or", "not", "in", "seq"})
"""Words that cannot be the name of a type or a variable (as attributes, after a dot, all words can)."""


Item = TypeVar("Item")


class Cursor:
    """Tokens of one text, the index of the current one, and the depth of nesting there.

    `whole`: what the text is. `paths`: words of its expressions are paths into one event, and no variables.
    """

    def __init__(self, text: str, *, paths: bool = False) -> None:
        self.text = text
        self.whole = "condition" if paths else "query"
        self.paths = paths
        self.tokens = tokenize(text)
        self.index = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def previous_end(self) -> int:
        """Offset in the text where the last token taken ends."""
        return self.tokens[self.index - 1].end if self.index else 0

    def peek(self, ahead: int = 1) -> Token:
        """The token `ahead` places behind the current one; the end token where there are fewer."""
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Take the current token and move on; the end token is never passed."""
        token = self.token
        if token.kind != "end":
            self.index += 1
        return token

    def span_from(self, start: int) -> Span:
        """The span from `start` to the end of the last token taken."""
        return Span(start, max(start, self.previous_end))

    # -------------------------------------------------------- taking a token if it is there

    def accept(self, *symbols: str) -> Token | None:
        """Take the current token if it is one of these symbols, else return None."""
        return self.advance() if self.token.is_symbol(*symbols) else None

    def accept_word(self, *words: str) -> Token | None:
        """Take the current token if it is one of these words (lower case), else return None."""
        return self.advance() if self.token.lower in words else None

    # -------------------------------------------------------- taking a token that must be there

    def expect(self, symbol: str, where: str, *, hint: str = "") -> Token:
        """Take this symbol or fail. `where` ends the message: expected ')' after the components of SEQ."""
        return self.accept(symbol) or self.fail(f"expected '{symbol}' {where}", hint=hint)

    def expect_word(self, word: str, where: str) -> Token:
        """Take this word or fail. `where`: see `expect`."""
        return self.accept_word(word.lower()) or self.fail(f"expected {word} {where}")

    def expect_attribute(self, where: str) -> Token:
        """Take an attribute's name or fail; any word will do, keywords included."""
        if self.token.kind != "word":
            whole = (
                "" if not self.token.is_symbol("*") else "The events themselves are always in the result: leave it out."
            )
            self.fail(f"expected an attribute {where}", hint=whole or self._hint_of_string())
        return self.advance()

    def expect_name(self, what: str, *, hint: str = "") -> Token:
        """Take a type or a variable, a word that is not reserved, or fail. `what`: "an event type", "a variable"."""
        if self.token.kind != "word":
            self.fail(f"expected {what}", hint=hint or self._hint_of_string())
        if self.token.lower in RESERVED:
            self.fail(f"expected {what}", hint=f"{self.token.value.upper()} is a keyword and cannot be a name here.")
        return self.advance()

    def _hint_of_string(self) -> str:
        """The hint for a string where a name should stand."""
        return f"Write the name without quotes: {name_text(self.token.value)}." if self.token.kind == "string" else ""

    def refuse_other_signs(self, name: Token | Span, what: str, *signs: str) -> None:
        """Raise QueryError if one of `signs` directly follows `name`, the words just taken, as in order-paid."""
        found = _NAME_WITH_SIGNS.match(self.text, name.start)
        if found is not None and self.token.is_symbol(*signs) and self.token.start == name.end:
            hint = f"In double quotes a name may hold any sign: {name_text(found.group())}."
            span = Span(name.start, found.end())
            raise self.error(f"{what} without quotes has letters, digits and _", span, hint=hint)

    def expect_number(self, what: str, *, hint: str = "") -> tuple[Token, int | float]:
        """Take a number or fail: the token and its value."""
        if self.token.kind != "number":
            self.fail(f"expected {what}", hint=hint)
        token = self.advance()
        return token, self.number(token)

    def number(self, token: Token) -> int | float:
        """The value of a number token: that of the same number in an event. QueryError if it is too large."""
        if token.value.isdigit():
            whole = int(token.value)
            if whole < LIMIT:
                return whole
        elif (value := float(token.value)) < EXACT:
            return value
        elif (number := number_of_text(token.value)) is not None:
            return number
        raise self.error("the number is too large", token, hint=_TOO_LARGE)

    def separated(self, parse: Callable[[Cursor], Item]) -> list[Item]:
        """One or more items, separated by commas."""
        found = [parse(self)]
        while self.accept(","):
            found.append(parse(self))
        return found

    # -------------------------------------------------------- nesting and errors

    def enter(self, token: Token) -> None:
        """Go one level deeper, or raise QueryError beyond DEPTH_LIMIT. `leave` undoes it."""
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise self.error(f"nested deeper than {DEPTH_LIMIT} levels", token, hint="Write it with fewer brackets.")

    def leave(self) -> None:
        self.depth -= 1

    def error(self, message: str, place: Token | Span, *, hint: str = "") -> QueryError:
        start, end = (place.start, place.end) if isinstance(place, Token) else place
        return QueryError(message, stage="syntax", text=self.text, start=start, end=end, hint=hint)

    def fail(self, expectation: str, *, hint: str = "") -> NoReturn:
        """Raise QueryError at the current token: `expectation`, found the token."""
        raise self.error(f"{expectation}, found {self.described(self.token)}", self.token, hint=hint)

    def described(self, token: Token) -> str:
        """A token as errors show it."""
        return f"the end of the {self.whole}" if token.kind == "end" else quoted(self.text[token.start : token.end])
