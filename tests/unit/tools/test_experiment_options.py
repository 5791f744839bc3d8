"""Options of `saffron experiment` that decide nothing, or make a table of what was not run, are refused."""

from __future__ import annotations

import sys

import pytest
from experiments.__main__ import main


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("r-quiet --train 5", "--train 5: r-quiet varies that itself; --at chooses its shares"),
        ("p-q4 --real --train 5", "--train 5: with --real the experiment's own share trains"),
        ("p-q4 --at 4,5", "--at: p-q4 has no n 4,5; there are 3, 4"),
        ("p-q4 --at 5", "--at: p-q4 has no n 5; there are 3, 4"),
        ("robustness --at 3", "--at: robustness does without; --only names experiments, --train shares"),
        ("robustness --real", "--real: robustness does without"),
        ("robustness --plot x.svg", "--plot: robustness does without"),
        ("robustness --only r-quiet --train 5", "--train 5: r-quiet is not tried with it"),
    ],
)
def test_it_is_refused_before_any_run(
    options: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["experiment", *options.split()])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
