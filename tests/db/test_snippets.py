"""Kept messages that were stored without a snippet get theirs, a few at a time, and are asked for once."""

from sqlalchemy import Engine, text

from snoozer.delivery.chores.snippets import fill_snippets
from tests.factories import a_kept_message, an_original


def snippets(engine: Engine) -> dict[int, str | None]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT id, snippet FROM messages"))
        return {row.id: row.snippet for row in rows}


def test_a_message_has_its_snippet_once_it_is_stored(engine: Engine) -> None:
    id = a_kept_message(engine, original=an_original(body="Could you look?"))
    assert (snippets(engine)[id] or "").startswith("Could you look?")


def test_messages_of_before_get_theirs_and_those_without_words_are_not_asked_for_again(engine: Engine) -> None:
    ids = [a_kept_message(engine, original=an_original(body=f"Words {number}")) for number in range(60)]
    empty = a_kept_message(engine, original=b"Subject: Nothing\r\n\r\n")
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET snippet = NULL"))
    with engine.begin() as holder:
        holder.execute(text("SELECT FROM messages WHERE id = :id FOR UPDATE"), {"id": ids[0]})
        assert fill_snippets(engine) == 60
    assert snippets(engine)[ids[0]] is None
    assert fill_snippets(engine) == 1
    assert fill_snippets(engine) == 0
    found = snippets(engine)
    assert found[empty] == ""
    assert all((found[id] or "").startswith("Words") for id in ids)
