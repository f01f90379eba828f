"""The contents of a push: a title, a subject only if the person chose so, and tokens for its buttons."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from snoozer.mail import links
from snoozer.mail.links import Action, Link

# Each button has its own token, which permits only that act.
BUTTONS: dict[str, tuple[Action, str | None]] = {
    "done": ("done", None),
    "hour": ("again", "in 1 hour"),
    "tomorrow": ("again", "tomorrow"),
}
MAX_SUBJECT_LENGTH = 150


def compose(
    *, snooze_id: int, scheduled_for: datetime, subject: str | None, words: dict[str, str], keys: Sequence[str]
) -> bytes:
    """The text of a push in the service worker's format. `words` has the title, and the names of the buttons."""
    occurrence = Link(snooze_id=snooze_id, scheduled_for=scheduled_for)
    tokens = {
        name: links.sign(replace(occurrence, action=action, phrase=phrase), keys=keys)
        for name, (action, phrase) in BUTTONS.items()
    }
    content = {
        "title": words["title"],
        "body": clipped(subject),
        # One notification per occurrence: it replaces only its own predecessor.
        "tag": links.occurrence_id(links.sign(occurrence, keys=keys)),
        "open": f"/push/open/{snooze_id}",
        "unsaved": words["unsaved"],
        "buttons": [{"name": name, "title": words[name], "token": token} for name, token in tokens.items()],
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def clipped(subject: str | None) -> str:
    """One line of printable characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in subject or "").split())
    return line if len(line) <= MAX_SUBJECT_LENGTH else f"{line[:MAX_SUBJECT_LENGTH].rstrip()}…"
