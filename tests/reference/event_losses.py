"""What dropping events lost, the slow way: every block looked at anew, every power and ratio tried in turn."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import log


@dataclass(frozen=True)
class Block:
    """As many events; what they contribute, the partial matches that wait, the part that goes, the matches found."""

    size: int
    contributed: float
    alive: int
    part: float
    found: int


def share_lost(blocks: list[Block], length: float, reach: float) -> float:
    """At the powers and the ratio by which what each block found is likeliest, the further from 1 and the root the
    less; at these where nothing is found."""
    lost = [_lost(blocks[: number + 1], length, reach) for number in range(len(blocks))]
    best, most = (1.0, 0.5), float("-inf")
    found = sum(block.found for block in blocks)
    tried = product((0.0, 0.5, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5), (0.0, 0.25, 0.5, 0.75, 1.0))
    for *powers, instead in tried if found else ():
        expected = [one * (1 - share + share * instead) for one, share in zip(_due(blocks, *powers), lost, strict=True)]
        scale = found / sum(expected)
        likely = sum(
            (block.found * log(scale * one) if block.found else 0.0) - scale * one
            for block, one in zip(blocks, expected, strict=True)
        )
        likely -= 60 * ((powers[0] - 1) ** 2 + (powers[1] - 0.5) ** 2)
        if likely > most:
            best, most = (powers[0], powers[1]), likely
    due = _due(blocks, *best)
    return float(sum(one * share for one, share in zip(due, lost, strict=True)) / sum(due))


def _due(blocks: list[Block], of_contribution: float, of_alive: float) -> list[float]:
    """Matches in proportion."""
    return [
        block.size * max(0.001, block.contributed / block.size) ** of_contribution * (1 + block.alive) ** of_alive
        for block in blocks
    ]


def _lost(blocks: list[Block], length: float, reach: float) -> float:
    """The share of matches lost that end with the last block: what of them goes of `reach` events, or of the block."""
    left = max(reach, blocks[-1].size)
    whole = gone = 0.0
    for block in reversed(blocks):
        within = min(1.0, left / block.size)
        whole += within * block.contributed
        gone += within * block.contributed * block.part
        left -= within * block.size
        if left <= 0:
            break
    return min(0.999, float(1 - (1 - gone / whole) ** length))
