"""The queries of the match benchmark: SASE's templates, as the peers are asked them too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

ANY, NEXT, PARTITION = "skip-till-any-match", "skip-till-next-match", "partition-contiguity"
_STOCK = "PATTERN SEQ(Stock+ a[], Stock b) WHERE {} {{ [symbol] AND a[1].price % 500 = 0{} AND b.volume < 150 }}"
_TAKES = {"p1": "", "p2": " AND a[i].price > a[i-1].price", "p3": " AND a[i].price > avg(a[..i-1].price)"}


@dataclass(frozen=True)
class Workload:
    """A query over a stock stream. `peers`: engines that can express exactly its matches."""

    name: str
    stream: str
    text: str
    peers: tuple[str, ...]


def _abc(name: str, where: str, window: int, peers: tuple[str, ...], output: str = "") -> Workload:
    text = f"PATTERN SEQ(A a, B+ b[], C c) WHERE {where} WITHIN {window} ms{output}"
    return Workload(f"abc_{name}_w{window}", "abc", text, peers)


def _workloads() -> Iterator[Workload]:
    for window in (29, 49):
        yield _abc("any", ANY, window, ("sase", "flink", "esper"))
    for window in (49, 99):
        yield _abc("any_rising", f"{ANY} {{ b[i].v > b[i-1].v }}", window, ("sase", "flink"))
    yield _abc("next_max", NEXT, 99, ("flink", "esper", "siddhi"), " OUTPUT FIRST")
    yield _abc("next_split", NEXT, 99, ())
    for split in ("", "split_"):
        for within in (500, 2000):
            for letter, takes in _TAKES.items():
                for short, strategy in (("s2", PARTITION), ("s3", NEXT)):
                    text = f"{_STOCK.format(strategy, takes)} WITHIN {within} ms"
                    name = f"stock_{split}{short}_{letter}_w{within}"
                    yield Workload(
                        name, "stock", text + ("" if split else " OUTPUT FIRST"), _asked(split, short, letter)
                    )
    for word, strategy in (("next", NEXT), ("any", ANY)):
        text = f"PATTERN SEQ(A a, B b, C c) WHERE {strategy} {{ [key] }} WITHIN 1000 ms"
        peers = ("sase", "flink", "esper", "siddhi") if word == "next" else ("sase", "flink", "esper")
        yield Workload(f"seq3_{word}_w1000", "keyed", text, peers)


def _asked(split: str, strategy: str, takes: str) -> tuple[str, ...]:
    """The engines that can run a stock workload. SASE has no p3 and no split; Esper loses matches of s2 p1."""
    if split:
        return {"s2": ("flink", "esper") if takes != "p3" else ("flink",), "s3": ("esper",) if takes == "p1" else ()}[
            strategy
        ]
    if takes == "p3":
        return ("flink",)
    return ("sase", "flink", "esper") if (strategy, takes) == ("s2", "p2") else ("sase", "flink")


WORKLOADS = {workload.name: workload for workload in _workloads()}
