"""How long things took, by the clocks of the mail server and of the harness.

silence        the longest time in which reminders were due, database and mail server up, and no mail was accepted
kill to mail   from the death of a worker to the mail of a reminder that it held; cases that wait for people apart
wait           from when a reminder was due and known to be wanted to its first mail
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.chaos.storm.arrivals import Arrivals, Message
from tests.chaos.storm.evidence import Entry, Evidence, Held
from tests.chaos.storm.wishes import ROUNDING

Span = tuple[float, float]
Figures = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Seconds that a scene may take at most, None for any number."""

    silence: float | None = None
    kill_to_mail: tuple[float, float, float] | None = None  # p50, p99, worst

    def exceeded(self, *, silence: float, kill_to_mail: Figures) -> list[str]:
        """What took longer, in words."""
        found = [] if self.silence is None or silence <= self.silence else [f"silence: {silence} s"]
        if self.kill_to_mail and kill_to_mail:
            for name, most in zip(("p50", "p99", "max"), self.kill_to_mail, strict=True):
                if kill_to_mail[name] > most:
                    found.append(f"kill to mail, {name}: {kill_to_mail[name]} s")
        return found


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """Seconds from a worker's death until a claim it held was taken from it (freed), held anew, and its mail came."""

    claims: int
    freed: Figures
    reclaimed: Figures
    mailed: Figures = field(default_factory=dict)


def figures(seconds: Iterable[float]) -> Figures:
    """Median, 99th percentile and maximum; nothing where there is nothing."""
    ordered = sorted(seconds)
    if not ordered:
        return {}
    return {
        "p50": round(ordered[len(ordered) // 2], 3),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 3),
        "max": round(ordered[-1], 3),
    }


def waits(arrivals: Arrivals) -> list[float]:
    """Of each promise that was kept: from due and wanted to its first mail."""
    return [
        mails[0].at - promise.due_since
        for _, promise, mails in arrivals.promises()
        if mails and promise.since < float("inf")
    ]


def silence(evidence: Evidence, arrivals: Arrivals) -> float:
    """The longest of all silences. What waits for people to decide is not due."""
    cases = _cases(evidence.entries)
    due = [
        (promise.due_since, min(promise.withdrawn_at, mails[0].at if mails else float("inf")))
        for (user_email, message_id, _), promise, mails in arrivals.promises()
        if (mails or promise.withdrawn_at < float("inf")) and (user_email, message_id) not in cases
    ]
    accepted = sorted(mail.at for mail in evidence.mails)
    outages = sorted((outage.since, outage.until) for outage in evidence.outages)
    return round(max((_longest(span, accepted=accepted, outages=outages) for span in union(due)), default=0.0), 3)


def union(spans: Iterable[Span]) -> list[Span]:
    """The same time in spans that do not touch, in order."""
    found: list[Span] = []
    for since, until in sorted(span for span in spans if span[0] < span[1]):
        if found and since <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((since, until))
    return found


def _longest(span: Span, *, accepted: Sequence[float], outages: Sequence[Span]) -> float:
    since, until = span
    ends = [(at, at) for at in accepted[bisect_left(accepted, since) : bisect_right(accepted, until)]]
    ends += [(began, ended) for began, ended in outages if ended > since and began < until]
    longest, quiet_since = 0.0, since
    for began, ended in sorted(ends):
        longest = max(longest, began - quiet_since)
        quiet_since = max(quiet_since, ended)
    return max(longest, until - quiet_since)


def recovery(evidence: Evidence, arrivals: Arrivals) -> Recovery:
    """For every claim that a killed worker held when it died."""
    deaths = {killed.pid: killed.at for killed in evidence.killed}
    messages = {entry.snooze_id: (entry.user_email, entry.message_id) for entry in evidence.entries}
    cases = _cases(evidence.entries)
    freed, reclaimed, mailed = [], [], []
    for snooze_id, changes in _by_snooze(evidence.claims).items():
        message = messages.get(snooze_id)
        for index, held in enumerate(changes):
            died = deaths.get(_pid(held.worker)) if held.worker is not None else None
            after = changes[index + 1 :]
            if died is None or died < held.at or not after or after[0].at < died:
                continue
            freed.append(after[0].at - died)
            reclaimed += [one.at - died for one in after if one.worker is not None][:1]
            if message is not None and message not in cases:
                mailed += _until_mailed(arrivals, message, promised=held.promised, died=died)
    return Recovery(claims=len(freed), freed=figures(freed), reclaimed=figures(reclaimed), mailed=figures(mailed))


def _until_mailed(arrivals: Arrivals, message: Message, *, promised: float | None, died: float) -> list[float]:
    """Seconds to the first mail; none where that had arrived before, or the promise was withdrawn."""
    expected = arrivals.expected.get(message)
    if expected is None or promised is None:
        return []
    for number, promise in enumerate(expected.promises):
        mails = arrivals.mails.get((*message, number), [])
        if abs(promise.due - promised) < ROUNDING and mails and mails[0].at > died:
            return [mails[0].at - died]
    return []


def _cases(entries: Sequence[Entry]) -> set[Message]:
    return {(entry.user_email, entry.message_id) for entry in entries if "retired" in entry.events}


def _by_snooze(claims: Sequence[Held]) -> dict[int, list[Held]]:
    found: dict[int, list[Held]] = defaultdict(list)
    for held in claims:
        found[held.snooze_id].append(held)
    return found


def _pid(worker: str) -> int:
    """The process id inside a worker's id, `host-pid-random`."""
    return int(worker.rsplit("-", 2)[1])
