"""Whether rows of one serialization key were sent in their order and one at a time.

disordered   claimed for the first time while an earlier one that was never claimed was waiting
overlapping  the mail server had two of them between the end of the mail and its acceptance
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import itemgetter

from tests.chaos.storm.arrivals import Arrivals, Message
from tests.chaos.storm.evidence import Entry, Held
from tests.chaos.storm.wishes import Asked

# A claim may have read the table this long before it claims.
SNAPSHOT = 2.0
# A mail server that thinks longer than this may still have the mail of a worker that was killed.
SHORT_THOUGHT = 1.0

Row = tuple[float, float, float, Message]  # due, answered, first claimed, message


def disordered(asked: Sequence[Asked], *, entries: Sequence[Entry], claims: Sequence[Held]) -> set[Message]:
    """Messages that were claimed before one of their key that was due earlier. What was edited is left out."""
    ids = {(entry.user_email, entry.message_id): entry.snooze_id for entry in entries}
    first_claims: dict[int, float] = {}
    for held in claims:
        if held.worker is not None:
            first_claims.setdefault(held.snooze_id, held.at)
    rows: dict[str, list[Row]] = defaultdict(list)
    for one in asked:
        first, message = one.wishes[0], (one.user_email, one.message_id)
        claimed = first_claims.get(ids.get(message, -1))
        if one.key and one.is_unchanged and claimed and first.answered_at is not None and first.due is not None:
            rows[one.key].append((first.due, first.answered_at, claimed, message))
    return {message for of_one_key in rows.values() for message in _overtakers(sorted(of_one_key))}


def _overtakers(rows: list[Row]) -> Iterable[Message]:
    latest = 0.0
    for index, (due, _, claimed, message) in enumerate(rows):
        if claimed < latest and any(
            earlier_due < due and answered + SNAPSHOT < claimed < earlier_claimed
            for earlier_due, answered, earlier_claimed, _ in rows[:index]
        ):
            yield message
        latest = max(latest, claimed)


def overlapping(asked: Sequence[Asked], arrivals: Arrivals) -> set[Message]:
    """Messages whose mail the mail server was about to accept when it read another one of their key."""
    keys = {(one.user_email, one.message_id): one.key for one in asked if one.key and one.has_one_row}
    spans: dict[str, list[tuple[float, float, Message]]] = defaultdict(list)
    for (user_email, message_id, _), mails in arrivals.mails.items():
        key = keys.get((user_email, message_id))
        if key is not None:
            spans[key] += [
                (mail.read_at, mail.at, (user_email, message_id))
                for mail in mails
                if mail.at - mail.read_at < SHORT_THOUGHT
            ]
    return {
        later
        for of_one_key in spans.values()
        for (_, accepted, one), (read_at, _, later) in pairwise(sorted(of_one_key, key=itemgetter(0)))
        if read_at < accepted and one != later
    }
