"""The catalogues have every sentence that people read, no other, and each with the same values and markup."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po

from snoozer.translations import LANGUAGES, gettext, language_of, ngettext, speaking

ROOT = Path(__file__).resolve().parents[2]
KEYWORDS = {"_": None, "N_": None, "gettext": None, "ngettext": (1, 2), "npgettext": ((1, "c"), 2, 3)}
FOREIGN = [language for language in LANGUAGES if language != "en"]

# Of a message: its context and its forms.
Key = tuple[str | None, str | tuple[str, ...]]

_VALUE = re.compile(r"%\((\w+)\)s|%%|%")
_TAG = re.compile(r"</?\w+[^>]*>|&\w+;")


@pytest.fixture(scope="module")
def written() -> set[Key]:
    """Every message of the templates and modules."""
    with (ROOT / "babel.cfg").open() as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    found = extract_from_dir(ROOT, methods, options, KEYWORDS)
    return {(context, message) for _, _, message, _, context in found if message}


@pytest.fixture(params=FOREIGN)
def catalogue(request: pytest.FixtureRequest) -> Catalog:
    with (ROOT / "locale" / request.param / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=request.param, abort_invalid=True)


def messages(catalogue: Catalog) -> Iterator[Message]:
    return (message for message in catalogue if message.id)


def forms(text: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return (text or "",) if isinstance(text, str | None) else tuple(text)


def test_the_catalogue_is_current(catalogue: Catalog, written: set[Key]) -> None:
    listed: set[Key] = {
        (message.context, message.id if isinstance(message.id, str) else tuple(message.id))
        for message in messages(catalogue)
    }
    assert written - listed == set(), "run `make messages` and translate what is new"
    assert listed - written == set(), "run `make messages`, which removes what is gone"
    assert not catalogue.obsolete


def test_no_message_stands_within_another_string() -> None:
    """What is called within an f-string is not found, and stays English."""
    modules = (ROOT / "snoozer").rglob("*.py")
    nested = re.compile(r"\{n?(_|gettext)\(['\"]")
    assert [str(path) for path in modules if nested.search(path.read_text())] == []


def test_every_message_is_translated(catalogue: Catalog) -> None:
    missing = [message.id for message in messages(catalogue) if message.fuzzy or not all(forms(message.string))]
    assert missing == []


def test_values_and_markup_are_those_of_the_message(catalogue: Catalog) -> None:
    for message in messages(catalogue):
        for translated in forms(message.string):
            originals = forms(message.id)
            names = [set(_VALUE.findall(original)) for original in originals]
            assert set(_VALUE.findall(translated)) in (*names, set.union(*names)), message.id
            assert sorted(_TAG.findall(translated)) == sorted(_TAG.findall(originals[-1])), message.id


def test_messages_end_and_begin_alike(catalogue: Catalog) -> None:
    for message in messages(catalogue):
        for original, translated in zip(forms(message.id), forms(message.string), strict=True):
            assert (original[:1] == " ", original[-1:] == " ") == (translated[:1] == " ", translated[-1:] == " ")
            assert translated.endswith(".") or not original.endswith("."), original
            assert "!" not in translated


@pytest.mark.parametrize(
    ("locale", "language"),
    [("de_DE", "de"), ("de", "de"), ("DE-at", "de"), ("en_GB", "en"), ("fr_FR", "en"), ("del", "en"), ("", "en")],
)
def test_the_language_of_a_locale(locale: str, language: str) -> None:
    assert language_of(locale) == language


def test_what_is_in_no_catalogue_is_written_as_it_is() -> None:
    with speaking("de"):
        assert gettext("Not in %(what)s", what="it") == "Not in it"
        assert ngettext("%(num)s thing", "%(num)s things", 2) == "2 things"


def test_a_language_is_spoken_only_inside() -> None:
    with speaking("de"):
        assert gettext("Language") == "Sprache"
    assert gettext("Language") == "Language"
