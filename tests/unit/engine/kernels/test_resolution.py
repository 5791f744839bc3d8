"""What Numba chooses is the same whether its choices are remembered or made anew."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.types.functions import BaseFunction

from saffron.engine.kernels import resolution


def work(values: Any, flags: Any, n: Any) -> Any:
    """Operations of many types, the same ones several times."""
    total = values[0] + n
    for i in range(len(values)):
        if flags[i] and values[i] != total:
            total += values[i] % 3 - math.floor(values[i] / 2) * n
        values[i] = abs(values[i] - n)
        flags[i] = not flags[i]
    return total, values[1:][0], values[-1], min(n, 3), n // 2


def arguments() -> list[Any]:
    draw = np.random.default_rng(5)
    return [(draw.integers(-9, 9, 20), draw.random(20) < 0.5, 2.5), (draw.random(20) * 9, draw.random(20) < 0.5, 2)]


def compiled(**options: Any) -> tuple[list[Any], list[Any]]:
    """Answers and signatures for all arguments; `options`: the compiler's."""
    function = numba.njit(**options)(work)
    answers = [(function(*given), *(part.tolist() for part in given[:2])) for given in arguments()]
    return answers, function.nopython_signatures


@pytest.mark.parametrize("options", [{"boundscheck": True}, {"error_model": "numpy"}])
def test_answers_and_signatures_are_those_of_a_fresh_choice(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled()  # choices for other flags are remembered
    remembered = compiled(**options)
    monkeypatch.setattr(BaseFunction, "get_call_type", resolution._resolve)
    assert compiled(**options) == remembered
