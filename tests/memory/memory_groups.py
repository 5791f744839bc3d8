"""Consumer groups of the in-memory log: the classic protocol, eager, with range assignment, as a deterministic machine.

A member that joins or leaves starts a rebalance: every member gives up its partitions at its next poll and joins
again; when all have, partitions are dealt out. A member that does not poll keeps its partitions until its session
times out (a dead client looks just like a slow one, as on Kafka).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from saffron.runtime.log import TopicPartition


@dataclass(slots=True)
class Member:
    """One member: `joined` in the running rebalance; `generation` and `partitions` as last dealt out to it."""

    topics: tuple[str, ...]
    seen: int
    joined: bool = False
    generation: int = -1
    partitions: list[TopicPartition] = field(default_factory=list)


class Group:
    """Members in the order of joining, and the generation in force."""

    def __init__(self) -> None:
        self.members: dict[int, Member] = {}
        self.generation = 0
        self.stable = True
        self._next = 0
        self._dealt: dict[str, int] = {}

    def join(self, topics: tuple[str, ...], now: int) -> int:
        """A new member; returns its id."""
        self._next += 1
        self.members[self._next] = Member(topics, now, joined=True)
        self._rebalance(except_for=self._next)
        return self._next

    def rejoin(self, member: int, topics: tuple[str, ...]) -> None:
        """Let an old member, which has given up its partitions, take part in the running rebalance."""
        self.members[member].topics = topics
        self.members[member].joined = True

    def change(self, member: int) -> None:
        """Start a rebalance, because the member's subscription has changed: everybody joins again."""
        self.members[member].joined = False
        self._rebalance(except_for=-1)

    def leave(self, member: int) -> None:
        if self.members.pop(member, None) is not None:
            self._rebalance(except_for=-1)

    def expire(self, now: int, session_timeout: int) -> None:
        """Expel members that have not been heard of for longer than the session timeout."""
        for member in [m for m, state in self.members.items() if now - state.seen > session_timeout]:
            self.leave(member)

    def settle(self, partitions: Mapping[str, int]) -> None:
        """Deal out partitions once every member has joined."""
        if self.stable or not all(member.joined for member in self.members.values()):
            return
        self.generation += 1
        self.stable = True
        self._dealt = dict(partitions)
        for member in self.members.values():
            member.generation = self.generation
            member.partitions = []
        for topic, count in sorted(partitions.items()):
            takers = [m for _, m in sorted(self.members.items()) if topic in m.topics]
            for index in range(count if takers else 0):
                takers[index * len(takers) // count].partitions.append(TopicPartition(topic, index))

    def look(self, partitions: Mapping[str, int]) -> None:
        """Deal out anew where a topic has come or gone, or has more partitions than were dealt out."""
        if self.stable and self._dealt != partitions:
            self._rebalance(except_for=-1)

    def topics(self) -> list[str]:
        return sorted({topic for member in self.members.values() for topic in member.topics})

    def _rebalance(self, except_for: int) -> None:
        if self.stable:
            for name, member in self.members.items():
                member.joined = name == except_for
        self.stable = False
