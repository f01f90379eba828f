"""What is suggested while a search is typed: only what the search reads, and only from one's own messages."""

import re
from collections.abc import Sequence
from html import unescape
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from snoozer.db.queries.snoozes import Filters
from snoozer.mailboxes.search_terms import open_term
from snoozer.translations import LANGUAGES, speaking
from snoozer.web.snoozes import search
from snoozer.web.snoozes.search_suggestions.suggestions import names_of, suggest
from snoozer.web.text.time_format import TimeFormatter
from tests.factories import HOUR, a_kept_message, a_snooze, an_original, now

BOB = "bob@snoozer.example"


def offered(ann: FlaskClient, typed: str, **of: str) -> list[str]:
    """The texts that the suggestions lead to."""
    answer = ann.get(f"/search/suggestions?{urlencode({'list': 'asleep', **of, 'typed': typed})}")
    assert answer.status_code == 200
    return [unescape(text) for text in re.findall(r'data-typed="([^"]*)"', answer.text)]


def test_names_and_closed_values_follow_what_is_typed(ann: FlaskClient) -> None:
    assert offered(ann, "") == ["from:", "subject:", "note:", "due:", "state:", "repeats: "]
    assert offered(ann, "invoice s") == ["invoice subject:", "invoice state:"]
    assert offered(ann, "invoice") == []
    assert offered(ann, '"s') == ["subject:", "state:"]
    assert offered(ann, "STATE:P") == ["state:paused "]
    assert offered(ann, "a state:s") == ["a state:stuck "]
    assert offered(ann, "", list="kept") == offered(ann, "", list="connected") == ["from:", "subject:"]
    assert offered(ann, "due:", list="kept") == []
    for wrong in ({"list": "mine"}, {}, {"list": "kept", "folder": "trash"}):
        assert ann.get("/search/suggestions", query_string=wrong).status_code == 400


def test_senders_are_ones_own_and_the_frequent_ones_first(ann: FlaskClient, engine: Engine) -> None:
    for sender in ("carl@home.example", "Ann@shop.example", "ann@SHOP.example", "a_b@x.example", None, "The boss"):
        a_snooze(engine, sender_email=sender, remind_at=now() + HOUR)
    a_snooze(engine, sender_email="eve@x.example", user_email=BOB)
    a_snooze(engine, sender_email="gone@x.example", inactive=True, outcome="cancelled", finished_at=now())
    first, *others = (typed.lower() for typed in offered(ann, "x from:"))
    assert first == "x from:ann@shop.example "
    assert set(others) == {"x from:a_b@x.example ", "x from:carl@home.example ", 'x from:"the boss" '}
    assert offered(ann, "from:HOME") == ["from:carl@home.example "]
    assert offered(ann, "from:a_") == ["from:a_b@x.example "]
    assert offered(ann, 'from:"the b') == ['from:"The boss" ']
    assert offered(ann, "from:%") == []
    a_kept_message(engine, original=an_original().replace(b"From: Bob <bob@", b"From: Dr. Dora <dora@"))
    a_kept_message(engine, user_email=BOB)
    assert offered(ann, "from:", list="kept") == offered(ann, "from:dr.", list="kept") == ["from:dora@mail.example "]
    assert offered(ann, "from:", list="kept", folder="done") == []


def suggested(typed: str, locale: str) -> Sequence[tuple[str, str]]:
    times = TimeFormatter(now=now(), zone="Europe/Berlin", locale=locale)
    found = suggest(open_term(typed, names_of("asleep")), "asleep", times=times, senders=lambda _: [])
    return [(one.typed, one.about) for one in found]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_suggested_day_and_state_is_read_by_the_search(language: str) -> None:
    locale = {"en": "en_GB"}.get(language, f"{language}_{language.upper()}")
    times = TimeFormatter(now=now(), zone="Europe/Berlin", locale=locale)
    with speaking(language):
        days = [typed for start in ("", "<", ">") for typed, _ in suggested(f"due:{start}", locale)]
        assert len(days) > 10
        for typed in [*days, *(typed for typed, _ in suggested("state:", locale))]:
            assert search.parse(typed, times=times) != Filters()


def test_a_day_that_was_typed_is_suggested_with_its_date() -> None:
    assert suggested("x due:<24 dec", "en_GB") == []
    ((typed, about),) = suggested('x due:<"24 dec', "en_GB")
    assert typed == 'x due:<"24 dec" '
    assert re.fullmatch(r"before \w+day 24 December( \d{4})?", about)
    assert suggested("due:<frday", "en_GB") == []


@given(typed=st.text(st.characters() | st.sampled_from(list('duefromstate:<>" ')), max_size=60))
def test_whatever_is_typed_stays_before_what_is_suggested(typed: str) -> None:
    term = open_term(typed, names_of("asleep"))
    assert typed.startswith(term.before)
    assert all(text.startswith(term.before) for text, _ in suggested(typed, "en_GB"))
