"""Decides which of the watched mailboxes gets a thread next: mailboxes with due messages before mailboxes that only
need a look, within the limits of hosts and accounts. Its cost does not depend on the number of waiting mailboxes."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from snoozer.mailboxes.sync.host_limits import HostLimits
from snoozer.mailboxes.sync.mailbox_watch import MailboxWatch

NEVER = float("inf")


@dataclass(kw_only=True, eq=False)
class Watched:
    """A mailbox of this process. One thread works on it (`busy`), or it waits: for `look_at`, for `due_at`, or for an
    event; times are of the monotonic clock. `planned_at` and `is_ready` belong to the queue. `is_silent`: it was
    recorded that its turn has waited too long for the server."""

    watch: MailboxWatch
    look_at: float
    due_at: float = NEVER
    not_due_before: float = 0.0
    busy: bool = False
    looks: bool = False
    moves: bool = False
    signs_in: bool = False
    is_recorded: bool = False
    is_silent: bool = False
    dropped: bool = False
    fd: int | None = None
    planned_at: float = NEVER
    is_ready: bool = False

    @property
    def next_at(self) -> float:
        """The time of its next work. Without a connection, it has no work before the next attempt to connect."""
        return min(self.look_at, self.due_at) if self.watch.is_open else self.look_at

    @property
    def host(self) -> str:
        return self.watch.mailbox.host

    @property
    def account_id(self) -> int:
        return self.watch.mailbox.account_id


class TurnQueue:
    """Two stages: a heap of times, then for each host the mailboxes whose time has come. Invalid entries in a heap are
    skipped when their turn comes."""

    def __init__(self, *, threads: int) -> None:
        self.limits = HostLimits()
        self._free = threads
        self._numbers = count()
        self._times: list[tuple[float, int, Watched]] = []
        self._ready: dict[tuple[str, bool], list[tuple[bool, float, int, Watched]]] = {}
        self._held: dict[int, list[Watched]] = defaultdict(list)

    @property
    def next_at(self) -> float:
        """When the next mailbox has something to do, or sooner."""
        return self._times[0][0] if self._times else NEVER

    def plan(self, watched: Watched, *, now: float) -> None:
        """Must be called whenever its `look_at` or `due_at` has changed, or its connection ended."""
        if watched.busy or watched.dropped:
            return
        if watched.is_ready:
            if watched.due_at <= now:
                self._make_ready(watched, now=now)
        elif watched.next_at < watched.planned_at:
            watched.planned_at = watched.next_at
            heappush(self._times, (watched.planned_at, next(self._numbers), watched))

    def start(self, *, now: float) -> Iterator[Watched]:
        """Yield the mailboxes whose turn begins now; each is busy until `finish`."""
        self._collect(now)
        while self._free and (watched := self._pop(now)) is not None:
            if not self.limits.has_room_for(watched.account_id):
                self._held[watched.account_id].append(watched)
                continue
            self._free -= 1
            watched.busy, watched.is_ready, watched.signs_in = True, False, not watched.watch.is_open
            self.limits.begin(watched.host, watched.account_id, signs_in=watched.signs_in)
            yield watched

    def finish(self, watched: Watched, *, now: float) -> None:
        """Its turn has ended."""
        self._free += 1
        watched.busy = False
        self.limits.end(watched.host, watched.account_id, signs_in=watched.signs_in)
        for held in self._held.pop(watched.account_id, ()):
            self._make_ready(held, now=now)

    def _collect(self, now: float) -> None:
        """Make the mailboxes ready whose time has come."""
        while self._times and self._times[0][0] <= now:
            at, _, watched = heappop(self._times)
            if at != watched.planned_at or watched.busy or watched.dropped or watched.is_ready:
                continue
            watched.planned_at = NEVER
            if watched.next_at <= now:
                self._make_ready(watched, now=now)
            else:
                self.plan(watched, now=now)

    def _make_ready(self, watched: Watched, *, now: float) -> None:
        watched.is_ready = True
        heap = self._ready.setdefault((watched.host, not watched.watch.is_open), [])
        heappush(heap, (watched.due_at > now, watched.next_at, next(self._numbers), watched))

    def _pop(self, now: float) -> Watched | None:
        """The first mailbox whose host has room."""
        first: list[tuple[bool, float, int, Watched]] | None = None
        for (host, signs_in), heap in list(self._ready.items()):
            while heap and not _is_valid(heap[0][3], signs_in=signs_in):
                self._replace(heappop(heap)[3], now=now)
            if not heap:
                del self._ready[host, signs_in]
            elif self.limits.has_room(host, signs_in=signs_in) and (first is None or heap[0] < first[0]):
                first = heap
        return heappop(first)[3] if first else None

    def _replace(self, watched: Watched, *, now: float) -> None:
        """Put a mailbox into the other heap, because its connection was opened or closed since it was queued."""
        if watched.is_ready and not watched.busy and not watched.dropped:
            self._make_ready(watched, now=now)


def _is_valid(watched: Watched, *, signs_in: bool) -> bool:
    is_waiting = watched.is_ready and not watched.busy and not watched.dropped
    return is_waiting and signs_in is not watched.watch.is_open
