"""Which mail kept which promise: mails of the mail server's file, sorted by what was wished.

A mail belongs to a promise by its recipient, by the message it refers to, and by the note it shows. What a promise
forbids is *wrong*:

early      accepted before it was due                  withdrawn  a cancellation or an edit was answered before that
stale      with a note that was replaced before        misdated   states another time than the one asked for
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.chaos.storm.evidence import Entry, Held, Mail
from tests.chaos.storm.wishes import ROUNDING, Asked, Expectation, Promise, expectation

Message = tuple[str, str]
# A message, and the number of a promise about it.
PromiseId = tuple[str, str, int]


@dataclass
class Arrivals:
    """What was expected and what came. `unexpected` mails belong to no message that was asked for."""

    expected: dict[Message, Expectation]
    mails: dict[PromiseId, list[Mail]] = field(default_factory=lambda: defaultdict(list))
    unexpected: list[Mail] = field(default_factory=list)
    wrong: dict[str, set[Message]] = field(default_factory=lambda: defaultdict(set))

    @property
    def messages(self) -> set[Message]:
        """Of which at least one mail arrived."""
        return {(user_email, message_id) for user_email, message_id, _ in self.mails}

    def promises(self) -> list[tuple[PromiseId, Promise, list[Mail]]]:
        """Each promise with its mails, the first one first."""
        return [
            ((*message, number), promise, self.mails.get((*message, number), []))
            for message, expected in self.expected.items()
            for number, promise in enumerate(expected.promises)
        ]

    def missing(self) -> set[Message]:
        """Messages of which a promise that is owed was not kept."""
        return {
            message
            for message, expected in self.expected.items()
            if any(not any((*message, number) in self.mails for number in owed) for owed in expected.owed)
        }


def sort(asked: Sequence[Asked], mails: Sequence[Mail]) -> Arrivals:
    """Sort mails by promises, in the order of their arrival."""
    arrivals = Arrivals(expected={(one.user_email, one.message_id): expectation(one) for one in asked})
    for mail in sorted(mails, key=lambda mail: mail.at):
        message = (mail.rcpt, mail.in_reply_to or "")
        expected = arrivals.expected.get(message)
        if expected is None:
            arrivals.unexpected.append(mail)
            continue
        number = expected.promise_of(mail.wish)
        if number is None:
            arrivals.wrong["stale"].add(message)
            continue
        arrivals.mails[*message, number].append(mail)
        for kind in _faults(mail, expected.promises[number]):
            arrivals.wrong[kind].add(message)
    return arrivals


def _faults(mail: Mail, promise: Promise) -> list[str]:
    return [
        kind
        for kind, is_so in {
            "early": mail.at < promise.due - ROUNDING,
            "withdrawn": not promise.may_arrive or mail.read_at > promise.last_arrival,
            "misdated": mail.date is not None and not promise.could_be_dated(mail.date),
        }.items()
        if is_so
    ]


def claimed_after_withdrawal(arrivals: Arrivals, *, entries: Sequence[Entry], claims: Sequence[Held]) -> set[Message]:
    """Messages of which a worker claimed a promise after it was answered that it was withdrawn."""
    messages = {entry.snooze_id: (entry.user_email, entry.message_id) for entry in entries}
    found = set()
    for held in claims:
        message = messages.get(held.snooze_id)
        if held.worker is None or held.promised is None or message not in arrivals.expected:
            continue
        promise = _nearest(arrivals.expected[message].promises, at=held.promised)
        if abs(promise.due - held.promised) < ROUNDING and held.at > promise.withdrawn_at:
            found.add(message)
    return found


def _nearest(promises: Sequence[Promise], *, at: float) -> Promise:
    """Two times that were asked for may lie less than ROUNDING apart."""
    return min(promises, key=lambda promise: abs(promise.due - at))
