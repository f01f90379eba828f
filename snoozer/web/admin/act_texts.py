"""What an operator's acts are called, and what a preview says of each."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ActText:
    """An act in words: `verb` on buttons and headings, `done` before a number of rows, and what it does.
    `uncertain_one` and `uncertain_many` are about reminders that may have been sent."""

    verb: str
    done: str
    one: str
    many: str
    uncertain_one: str = ""
    uncertain_many: str = ""
    noun: str = "case"
    is_destructive: bool = False

    def title(self, count: int) -> str:
        """Reactivate 312 cases."""
        return f"{self.verb} {count:,} {self.noun}{'' if count == 1 else 's'}"


_COPY = "with the same Message-ID, so"

ACT_TEXTS = {
    "reactivate": ActText(
        verb="Reactivate",
        done="Reactivated",
        one="It goes back to work with fresh attempts, and its reminder is sent as soon as a worker takes it.",
        many="They go back to work with fresh attempts, and their reminders are sent as soon as a worker takes them.",
        uncertain_one=f"It is sent again, {_COPY} its owner may get a second copy.",
        uncertain_many=f"They are sent again, {_COPY} some people may get a second copy.",
    ),
    "dismiss": ActText(
        verb="Dismiss",
        done="Dismissed",
        one="It is closed for good: no reminder is sent, and the error stays on the row.",
        many="They are closed for good: no reminder is sent, and the error stays on the row.",
        uncertain_one="It is not sent again, so its owner may never get one.",
        uncertain_many="They are not sent again, so some people may never get one.",
        is_destructive=True,
    ),
}
