"""What just happened, said once on the next page, with an Undo that is an ordinary form."""

from typing import NamedTuple

from flask import flash, get_flashed_messages


class Toast(NamedTuple):
    """`undo` is the path a POST goes to, `fields` what it carries."""

    text: str
    undo: str | None
    fields: dict[str, str]


def say(text: str, *, undo: str | None = None, **fields: str) -> None:
    """Say it on the next page this browser sees."""
    flash([text, undo, fields], "toast")  # type: ignore[arg-type]


def said() -> list[Toast]:
    """What there is to say now; saying it uses it up."""
    return [Toast(*message) for message in get_flashed_messages(category_filter=["toast"])]
