"""The names of operators' acts, and the sentences of their previews."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ActText:
    """An act in words: `heading` has {} for "312 cases", `button` stands alone, `done` is about one row. `one` and
    `many` describe its effect; `uncertain_one` and `uncertain_many` its effect on reminders that may have been sent."""

    heading: str
    button: str
    done: str
    one: str
    many: str
    uncertain_one: str = ""
    uncertain_many: str = ""
    noun: str = "case"

    def title(self, count: int) -> str:
        """The heading, such as "Reactivate 312 cases"."""
        return self.heading.format(f"{count:,} {self.noun}{'' if count == 1 else 's'}")


_COPY = "with the same Message-ID, so"
_AGAIN = {
    "uncertain_one": f"It is sent again, {_COPY} its owner may get a second copy.",
    "uncertain_many": f"They are sent again, {_COPY} some people may get a second copy.",
}
_NEVER = {
    "uncertain_one": "It is not sent again, so its owner may never get one.",
    "uncertain_many": "They are not sent again, so some people may never get one.",
}

ACT_TEXTS = {
    "reactivate": ActText(
        heading="Reactivate {}",
        button="Reactivate",
        done="Reactivated it.",
        one="It goes back to work with fresh attempts, and its reminder is sent as soon as a worker takes it.",
        many="They go back to work with fresh attempts, and their reminders are sent as soon as a worker takes them.",
        **_AGAIN,
    ),
    "dismiss": ActText(
        heading="Dismiss {}",
        button="Dismiss",
        done="Dismissed it.",
        one="It is closed for good: no reminder is sent, and the error stays on the row.",
        many="They are closed for good: no reminder is sent, and the error stays on the row.",
        **_NEVER,
    ),
    "delay": ActText(
        heading="Delay {}",
        button="Delay",
        done="Delayed it.",
        noun="snooze",
        one="It is not tried before then. No attempt is used, and the promise does not move; a case goes back to work.",
        many="They are not tried before then. No attempt is used, and promises do not move; cases go back to work.",
        **_AGAIN,
    ),
    "raise_attempts": ActText(
        heading="Raise the attempts of {}",
        button="Raise attempts",
        done="It may be tried more often now.",
        noun="snooze",
        one="It may be tried so much more often. A case stays one until it is reactivated.",
        many="They may be tried so much more often. Cases stay cases until they are reactivated.",
    ),
    "resolve_sent": ActText(
        heading="Settle {} as sent",
        button="It was sent",
        done="Settled it as sent.",
        noun="reminder",
        one="The mail server's log says that it was sent: it is finished, and what repeats goes on with its next time.",
        many="The mail server's log says that they were sent: they are finished, and what repeats goes on with its "
        "next time.",
        uncertain_one="It is never sent again.",
        uncertain_many="They are never sent again.",
    ),
    "resolve_resend": ActText(
        heading="Send {} again",
        button="Send it again",
        done="It is sent again.",
        noun="reminder",
        one="It is sent once more as soon as a worker takes it: the same bytes with the same Message-ID.",
        many="They are sent once more as soon as a worker takes them: the same bytes with the same Message-IDs.",
        uncertain_one="Its owner may get a second copy.",
        uncertain_many="Some people may get a second copy.",
    ),
    "resolve_drop": ActText(
        heading="Drop {}",
        button="Drop it",
        done="Dropped it.",
        noun="reminder",
        one="It is not sent again. What repeats goes on with its next time; everything else is closed.",
        many="They are not sent again. What repeats goes on with its next time; everything else is closed.",
        **_NEVER,
    ),
    "mark_invalid": ActText(
        heading="Mark the addresses of {} invalid",
        button="Mark the address invalid",
        done="No mail is sent to its address any more.",
        one="No reminder is sent to its address until an operator or its person takes that back. A case stays a case.",
        many="No reminders are sent to their addresses until an operator or their person takes that back. Cases stay "
        "cases.",
    ),
    "release": ActText(
        heading="Take back {}",
        button="Release the claim",
        done="Took it back from its worker.",
        noun="claim",
        one="The worker's token counts no longer, so it ends nothing and sends no final dot any more. Another worker "
        "takes the snooze; no attempt is used. What was past the final dot becomes uncertain.",
        many="The workers' tokens count no longer, so they end nothing and send no final dot any more. Other workers "
        "take the snoozes; no attempt is used. What was past the final dot becomes uncertain.",
        uncertain_one="Its final dot was authorised: it becomes uncertain, and waits out its hold.",
        uncertain_many="Their final dots were authorised: they become uncertain, and wait out their hold.",
    ),
}
