"""The line that a person wrote above a quoted reminder is read as it was meant, or not at all."""

from itertools import product

import pytest

from snoozer.mail import answer_text
from tests.mail.answering_programs import LINES, PROGRAMS, QUOTED, Shape, an_answer, marked, plain


@pytest.mark.parametrize(("program", "line"), list(product(PROGRAMS, LINES)))
def test_the_line_is_read_in_the_shape_of_each_program(program: str, line: str) -> None:
    assert answer_text.command(an_answer(PROGRAMS[program], line)) == line.rstrip("!")


UNREAD = {
    "nothing": "",
    "a quoted command": f"{marked('done')}\n",
    "a quote alone": f"On Fri, 6 Mar 2026 at 08:00, Snoozer wrote:\n\n{marked()}",
    "a quote without marks": f"On Fri, 6 Mar 2026 at 08:00, Snoozer <a@b.example> wrote:\n\nDone\n\n{QUOTED}",
    "a command in a signature": "-- \ndone\n",
    "an Outlook quote": "From: Snoozer\nSent: Friday\nSubject: Offer\n\ndone\n",
    "a forwarded command": "-------- Forwarded Message --------\nSubject: x\n\ndone\n",
    "two lines": "Tomorrow\nI am away, so please write to Ben.\n",
    "a sentence of many words": "done " * 30,
}


@pytest.mark.parametrize("what", UNREAD)
def test_nothing_else_is_read(what: str) -> None:
    def shape(_: str) -> tuple[str, str]:
        return plain(UNREAD[what])

    assert answer_text.command(an_answer(shape, what)) is None


def test_a_quote_in_html_is_not_read() -> None:
    for page in ("<blockquote>done</blockquote>", "<blockquote>done<blockquote>x</blockquote>done", "<blockquote>done"):
        shape: Shape = lambda _, page=page: ("Content-Type: text/html", page)  # type: ignore[misc]  # noqa: E731
        assert answer_text.command(an_answer(shape, "")) is None
