"""A trouble of the overview's verdict: how much harm it does, its next act, and its page of the runbook."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

# Whether reminders or messages are late now, may become late, or only a decision waits.
Harm = Literal["now", "risk", "notice"]
_HARMS: tuple[Harm, ...] = ("now", "risk", "notice")


class Remedy(NamedTuple):
    """The heading of the runbook, and the next act: a command to type, or the endpoint and part of a page."""

    page: str
    command: str = ""
    endpoint: str = ""
    label: str = ""
    part: str | None = None


@dataclass(frozen=True, kw_only=True)
class Resume:
    """The form that takes back an operator's act: its endpoint with arguments, hidden fields, and the field of the
    reason. Accounts that may do `act` see it."""

    act: str
    endpoint: str
    reason: str
    arguments: Mapping[str, int] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)


_SERVERS = {"endpoint": "admin.overview", "label": "Mail servers", "part": "breakers"}
_AWAY = "the-mail-server-is-away"
_MAILBOXES = "notifications-or-connected-mailboxes-are-behind"
REMEDIES = {
    "paused": Remedy(page="many-reminders-must-wait-run-again-or-come-later"),
    "mail server tripped": Remedy(page=_AWAY),
    "mail server stopped": Remedy(page=_AWAY),
    "silence": Remedy(page="the-database-does-not-answer", command="snoozer doctor"),
    "locks": Remedy(page="statements-wait-for-locks", command="snoozer support locks"),
    "no workers": Remedy(page="reminders-wait-and-no-worker-takes-them", command="snoozer worker"),
    "workers lost": Remedy(page="a-delivery-does-not-end", command="snoozer support workers"),
    "mail server frozen": Remedy(page=_AWAY, command="snoozer doctor", **_SERVERS),
    "mail server refusing": Remedy(page=_AWAY, command="snoozer doctor", **_SERVERS),
    "mail server slow": Remedy(page="a-delivery-does-not-end", command="snoozer support long_runners"),
    "backlog": Remedy(page="reminders-are-late-although-workers-are-alive", command="snoozer support wait"),
    "clock": Remedy(page="housekeeping-does-not-run", command="snoozer clock"),
    "chore": Remedy(page="housekeeping-does-not-run", command="snoozer support housekeeping"),
    "mailboxes": Remedy(page=_MAILBOXES, endpoint="admin_mailboxes.list_mailboxes", label="Mailboxes"),
    "mailboxes unwatched": Remedy(page=_MAILBOXES, command="snoozer mailbox"),
    "unread": Remedy(page="statements-wait-for-locks", command="snoozer support locks"),
    "deferred": Remedy(page="rows-of-a-newer-release-wait", command="snoozer support versions"),
    "uncertain": Remedy(
        page="reminders-may-have-been-sent", endpoint="admin.overview", label="See which", part="uncertain"
    ),
    "addresses": Remedy(
        page="many-reminders-must-wait-run-again-or-come-later", endpoint="admin_pauses.list_pauses", label="See why"
    ),
    "cases": Remedy(page="cases-wait-for-a-decision", endpoint="admin_cases.list_cases", label="Decide"),
    "cases new": Remedy(page="cases-wait-for-a-decision", endpoint="admin_cases.list_cases", label="Decide"),
}


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """One trouble. `kind` identifies it, for its remedy, style and scripts. An operator's act has its `resume`, and
    `explains_rest` if it can be why all reminders wait."""

    kind: str
    text: str
    harm: Harm
    resume: Resume | None = None
    explains_rest: bool = False

    @property
    def remedy(self) -> Remedy:
        return REMEDIES[self.kind]

    @property
    def is_alarm(self) -> bool:
        """False for a decision, nor for a stop by an operator while nothing is late."""
        return self.harm == "now" or (self.harm == "risk" and self.resume is None)

    @property
    def rank(self) -> tuple[bool, int]:
        """An operator's act that explains the rest comes first; then follow troubles by their harm."""
        return not self.explains_rest, _HARMS.index(self.harm)


def worst_first(troubles: Iterable[Trouble]) -> list[Trouble]:
    return sorted(troubles, key=lambda one: one.rank)
