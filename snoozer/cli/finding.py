"""The result of one check of the doctor."""

from dataclasses import dataclass
from typing import Literal

# The section of docs/runbook.md for each check.
RUNBOOK = {
    "clock": "housekeeping-does-not-run",
    "archive": "housekeeping-does-not-run",
    "chores": "housekeeping-does-not-run",
    "workers": "reminders-wait-and-no-worker-takes-them",
    "late reminders": "reminders-are-late-although-workers-are-alive",
    "breaker": "the-mail-server-is-away",
    "pauses": "many-reminders-must-wait-run-again-or-come-later",
    "addresses": "many-reminders-must-wait-run-again-or-come-later",
    "mail server": "the-mail-server-is-away",
    "newer rows": "rows-of-a-newer-release-wait",
    "cases": "cases-wait-for-a-decision",
    "uncertain": "reminders-may-have-been-sent",
    "connections": "connections-run-out",
    "autovacuum": "dead-rows-and-old-snapshots",
    "snapshots": "dead-rows-and-old-snapshots",
    "indexes": "an-index-or-a-trigger-is-missing",
    "definitions": "an-index-or-a-trigger-is-missing",
    "guards": "an-index-or-a-trigger-is-missing",
    "push": "notifications-or-connected-mailboxes-are-behind",
    "webhooks": "notifications-or-connected-mailboxes-are-behind",
    "mailboxes": "notifications-or-connected-mailboxes-are-behind",
}


@dataclass(frozen=True)
class Finding:
    """The finding of one check. `do` is empty if no action is needed."""

    check: str
    verdict: Literal["right", "wrong", "advice", "skipped"]
    says: str
    do: str = ""

    @property
    def page(self) -> str:
        """The section of the runbook; empty if no action is needed."""
        return f"docs/runbook.md#{RUNBOOK[self.check]}" if self.do and self.check in RUNBOOK else ""
