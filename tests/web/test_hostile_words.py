"""Pages show texts of strangers as words: without a tag, an attribute or a link of theirs.

SNOOZER_STORM=1 makes them 5,000 snoozes; else they are a sample.
"""

import re
from random import Random

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from tests.factories import HOUR, a_snooze, now
from tests.mail.composed import Page
from tests.mail.hostile import BREAKING, FULL, MARKUP

EACH = 25


def words(dice: Random) -> str:
    """Return characters that the database can hold, which excludes NUL and lone surrogates, and some markup."""
    usual = [chr(dice.choice([dice.randrange(1, 0x250), dice.randrange(0xE000, 0x20000)])) for _ in range(20)]
    characters = [*usual, *BREAKING.replace("\0", "").replace("\ud800", ""), *MARKUP]
    return "".join(dice.choices(characters, k=dice.randrange(40)))


def pages(ann: FlaskClient, ids: list[int]) -> dict[str, Page]:
    return {path: Page(ann.get(path).text) for path in ("/", *(f"/snoozes/{id}" for id in ids))}


def links(page: Page) -> set[str]:
    return {re.sub(r"\d+", "N", link) for link in page.links}


@pytest.mark.parametrize("seed", range(200 if FULL else 1))
def test_no_stranger_adds_a_link_or_a_tag_to_a_page(ann: FlaskClient, engine: Engine, seed: int) -> None:
    dice = Random(seed)
    at = now() + HOUR
    plain = a_snooze(engine, remind_at=at, subject="x", sender_email="x@mail.example", note="x")
    ours = pages(ann, [plain])
    theirs = [{name: words(dice) + "x" for name in ("subject", "sender_email", "note")} for _ in range(EACH)]
    ids = [a_snooze(engine, remind_at=at, **one) for one in theirs]
    for path, page in pages(ann, ids).items():
        like = ours["/" if path == "/" else f"/snoozes/{plain}"]
        assert page.tags <= like.tags | {"br"}, path
        assert page.attributes <= like.attributes, path
        assert links(page) <= links(like), path
