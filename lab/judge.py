"""The judge: compares the promises with the mail server's file. It trusts no worker and no table.

It asks the database two things only: whether a promise without a mail is still alive or a case, and whether the ledger
recorded an `uncertain` for each copy of a mail that was sent twice. The storm under `tests/chaos/storm` has its own
judge, on purpose: a test lets both count the same run.
"""

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from lab import naive
from lab import queue_rows as lab_rows
from lab.queue_rows import Copies

NAIVE_DOMAIN = "@naive."


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A message whose snooze was committed; `due` in seconds since 1970."""

    message_id: str
    due: float


@dataclass(frozen=True, kw_only=True)
class Mail:
    """A mail that the mail server accepted."""

    at: float
    message_id: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Counts of promises. `copies` are mails beyond the first; `marked` are promises of which each copy was recorded
    beforehand as possible; lateness is in seconds, of promises with a mail."""

    promised: int = 0
    sent: int = 0
    waiting: int = 0
    lost: int = 0
    cases: int = 0
    twice: int = 0
    copies: int = 0
    marked: int = 0
    late_half: float = 0.0
    late_most: float = 0.0
    named: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def unmarked(self) -> int:
        return self.twice - self.marked

    @property
    def keeps_the_promise(self) -> bool:
        return self.lost == 0 and self.unmarked == 0


@dataclass
class _Side:
    """The deliveries of one of both queues, by message."""

    mails: dict[str, list[Mail]] = field(default_factory=dict)
    verdict: Verdict = Verdict()


class Judge:
    """Counts for both sides. Safe to be called by several threads."""

    def __init__(self, facts: Path) -> None:
        self._facts = facts
        self._read_to = 0
        self._promises: dict[str, Promise] = {}
        self._ours, self._naive = _Side(), _Side()
        self._lock = threading.Lock()

    def promise(self, promises: Iterable[Promise]) -> None:
        """Add promises that are owed from now on."""
        with self._lock:
            self._promises |= {promise.message_id: promise for promise in promises}

    def count(self, connection: Connection) -> tuple[Verdict, Verdict]:
        """The verdicts on Snoozer and on the naive loop."""
        with self._lock:
            self._read()
            # Ask for finished messages only after reading the mails: a mail is written down before its message is
            # finished.
            ours = lab_rows.list_outcomes(connection, message_ids=self._missing(self._ours))
            theirs = naive.list_finished(connection, message_ids=self._missing(self._naive))
            self._read()
            several = [id for id, mails in self._ours.mails.items() if len(mails) > 1]
            marked = _marked(self._ours.mails, lab_rows.list_copies(connection, message_ids=several))
            self._ours.verdict = self._judge(self._ours, finished=ours, case="retired", marked=marked)
            self._naive.verdict = self._judge(self._naive, finished=theirs, case="", marked=set())
            return self._ours.verdict, self._naive.verdict

    @property
    def latest(self) -> tuple[Verdict, Verdict]:
        """The last verdicts."""
        return self._ours.verdict, self._naive.verdict

    def mails_of(self, message_id: str) -> int:
        """How many mails of Snoozer's about this message were accepted."""
        with self._lock:
            self._read()
            return len(self._ours.mails.get(message_id, ()))

    def naive_mails_of(self, message_id: str) -> int:
        """How many mails of the naive loop's about this message were accepted."""
        with self._lock:
            self._read()
            return len(self._naive.mails.get(message_id, ()))

    def _read(self) -> None:
        """Read the mail server's new lines; a line without its end counts as not written yet."""
        if not self._facts.exists():
            return
        with self._facts.open("rb") as file:
            file.seek(self._read_to)
            whole, end, _ = file.read().rpartition(b"\n")
        self._read_to += len(whole) + len(end)
        for line in whole.splitlines():
            fact = json.loads(line)
            side = self._naive if NAIVE_DOMAIN in fact["rcpt"] else self._ours
            mail = Mail(at=fact["at"], message_id=fact["message_id"], sha256=fact["sha256"])
            side.mails.setdefault(fact["in_reply_to"] or "", []).append(mail)

    def _missing(self, side: _Side) -> list[str]:
        return [id for id in self._promises if id not in side.mails]

    def _judge(self, side: _Side, *, finished: Mapping[str, str], case: str, marked: set[str]) -> Verdict:
        missing = self._missing(side)
        cases = [id for id in missing if finished.get(id) == case]
        lost = [id for id in missing if id in finished and finished[id] != case]
        twice = [id for id, mails in side.mails.items() if len(mails) > 1]
        late = sorted(
            max(0.0, mails[0].at - self._promises[id].due) for id, mails in side.mails.items() if id in self._promises
        )
        return Verdict(
            promised=len(self._promises),
            sent=len(late),
            waiting=len(missing) - len(cases) - len(lost),
            lost=len(lost),
            cases=len(cases),
            twice=len(twice),
            copies=sum(len(side.mails[id]) - 1 for id in twice),
            marked=len(marked),
            late_half=late[len(late) // 2] if late else 0.0,
            late_most=late[-1] if late else 0.0,
            named={"lost": lost[:20], "unmarked": [id for id in twice if id not in marked][:20]},
        )


def _marked(mails: Mapping[str, Sequence[Mail]], known: Sequence[Copies]) -> set[str]:
    """Messages whose copies are all explained: the ledger's id and bytes in each, and an `uncertain` for each."""
    return {
        one.message_id
        for one in known
        if {(mail.message_id, mail.sha256) for mail in mails[one.message_id]}
        == {(one.reminder_message_id, one.bytes_sha256)}
        and one.uncertain >= len(mails[one.message_id]) - 1
    }
