"""What folders mean by their names: never more than a person meant, in whatever spelling a program gave them."""

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoozer.mailboxes.imap.folder_meanings import (
    Folder,
    archive_folder,
    label_as_name,
    phrases,
    snooze_folders,
    snooze_root,
    snoozed_folder,
    snoozed_label,
)
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
DELIMITERS = st.sampled_from([".", "/", "\\", "|", None])
LEVEL = st.text(min_size=1, max_size=12)


def a_folder(name: str, *, delimiter: str | None = "/", **changes: object) -> Folder:
    levels = tuple(name.split(delimiter)) if delimiter else (name,)
    return Folder(name=name, levels=levels, delimiter=delimiter, **changes)  # type: ignore[arg-type]


def read(folder: Folder, locale: str = "en_GB") -> str:
    """What the first reading that the grammar takes means."""
    for phrase in phrases(folder):
        try:
            at = parse(phrase, now=NOW, zone="Europe/Berlin", locale=locale).at
        except ParseError:
            continue
        return f"{at:%Y-%m-%d %H:%M}"
    return "unknown"


@pytest.mark.parametrize(
    ("name", "delimiter", "meant"),
    [
        ("Snooze/Tomorrow", "/", "2026-11-24 08:00"),
        ("snooze/TOMORROW", "/", "2026-11-24 08:00"),
        ("INBOX.Snooze.fri 9.30", ".", "2026-11-27 09:30"),
        ("Snooze.fri 9.30", ".", "2026-11-27 09:30"),
        ("Snooze/fri 9.30", "/", "2026-11-27 09:30"),
        ("Snooze/fri 9/30", "/", "2026-11-27 09:30"),
        ("Snooze/fri 9:30", "/", "2026-11-27 09:30"),
        ("Snooze/24/12", "/", "2026-12-24 08:00"),
        ("Snooze.24.12", ".", "2026-12-24 08:00"),
        ("Snooze/24/12 9/30", "/", "2026-12-24 09:30"),
        ("Snooze/2026/12/24", "/", "2026-12-24 08:00"),
        ("Snooze/2026-12-24 09:00", "/", "2026-12-24 09:00"),
        ("Snooze/friday/9am", "/", "2026-11-27 09:00"),
        ("Snooze/  in   3  days ", "/", "2026-11-26 13:00"),
        ("Snooze/3h", "/", "2026-11-23 16:00"),
        ("Folders/Snooze/1d", "/", "2026-11-24 13:00"),
        ("Snooze/Receipts", "/", "unknown"),
        ("Snooze", "/", "unknown"),
        ("Snoozed/Tomorrow", "/", "unknown"),
        ("Work/Snooze/Tomorrow", "/", "unknown"),
    ],
)
def test_a_name_means_what_a_person_typed(name: str, delimiter: str, meant: str) -> None:
    assert read(a_folder(name, delimiter=delimiter)) == meant


def test_day_and_month_are_in_the_order_of_the_persons_setting() -> None:
    folder = a_folder("Snooze/5/12")
    assert [read(folder, locale) for locale in ("en_GB", "en_US")] == ["2026-12-05 08:00", "2027-05-12 08:00"]


def test_accents_mean_the_same_as_one_or_two_code_points() -> None:
    composed, decomposed = (unicodedata.normalize(form, "Snooze/Nächste Woche") for form in ("NFC", "NFD"))
    assert composed != decomposed
    assert read(a_folder(composed), "de_DE") == read(a_folder(decomposed), "de_DE") == "2026-11-30 08:00"


@pytest.mark.parametrize(
    ("names", "root"),
    [
        (["INBOX", "Snooze", "Snooze/Tomorrow"], "Snooze"),
        (["INBOX", "snooze", "Snooze"], "Snooze"),
        (["INBOX", "SNOOZE"], "SNOOZE"),
        (["INBOX", "INBOX/Snooze"], "INBOX/Snooze"),
        (["Folders/snooze", "Work/Snooze"], "Folders/snooze"),
        (["INBOX", "Work/Snooze", "Snoozed"], None),
    ],
)
def test_the_root_is_found_where_servers_allow_it(names: list[str], root: str | None) -> None:
    found = snooze_root([a_folder(name) for name in names])
    assert (found and found.name) == root


def test_only_ones_own_folders_that_hold_messages_snooze() -> None:
    folders = [
        a_folder("Snooze"),
        a_folder("Snooze/Tomorrow"),
        a_folder("snooze/tomorrow"),
        a_folder("Snooze/fri 9", selectable=False),
        a_folder("Snooze/Monday", namespace="shared"),
    ]
    assert [folder.name for folder in snooze_folders(folders)] == ["Snooze/Tomorrow", "snooze/tomorrow"]


def test_the_servers_own_snoozed_folder_is_not_used() -> None:
    theirs = a_folder("Snoozed", special_use=frozenset({r"\Snoozed"}))
    assert snoozed_folder([theirs]) is None
    assert snoozed_label([theirs]) == "Snoozed by Snoozer"
    ours = a_folder("Snoozed by Snoozer")
    assert snoozed_folder([theirs, ours]) == ours


def test_snoozed_is_ours_when_theirs_has_another_name() -> None:
    theirs = a_folder("Later", special_use=frozenset({r"\Snoozed"}))
    ours = a_folder("INBOX/snoozed")
    assert snoozed_folder([theirs, ours]) == ours
    assert snoozed_label([theirs, ours]) == "Snoozed"


def test_the_archive_is_known_by_its_use_before_its_name() -> None:
    named, used = a_folder("archive"), a_folder("Alles", special_use=frozenset({r"\Archive"}))
    assert archive_folder([named, used]) == used
    assert archive_folder([a_folder("Work/Archive"), a_folder("INBOX/Archive")]) == a_folder("INBOX/Archive")
    assert archive_folder([a_folder("Work/Archive"), a_folder("Archive", selectable=False)]) is None


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Tomorrow", "Tomorrow"),
        ("This evening", "This evening"),
        ("Nächste Woche", "Naechste Woche"),
        ("Après-midi", "Apres-midi"),
        ("fri 9:30", "fri 9 30"),
        (' a "b" \\ c ', "a b c"),
        ("明日", None),
        ("", None),
        ("...", None),
        ("-rf", None),
        ("x" * 61, None),
        ("R&D", None),
        ("✨", None),
    ],
)
def test_a_label_becomes_a_name_that_every_program_takes(label: str, name: str | None) -> None:
    assert label_as_name(label, delimiter="/") == name


@given(label=st.text(max_size=80), delimiter=DELIMITERS)
def test_a_name_of_ours_is_never_more_than_one_level(label: str, delimiter: str | None) -> None:
    name = label_as_name(label, delimiter=delimiter)
    if name is not None:
        assert name.isascii()
        assert name.isprintable()
        assert name == name.strip()
        assert not set(name) & set('./:\\*%"&' + (delimiter or ""))
        assert label_as_name(name, delimiter=delimiter) == name


@given(levels=st.lists(LEVEL, min_size=1, max_size=8), delimiter=DELIMITERS)
def test_every_name_below_the_root_has_readings_and_no_other_has(levels: list[str], delimiter: str | None) -> None:
    folder = Folder(name="x", levels=("Snooze", *levels), delimiter=delimiter)
    found = phrases(folder)
    assert len(found) <= 30
    assert bool(found) == any(level.split() for level in levels)
    outside = Folder(name="x", levels=("Elsewhere", *levels), delimiter=delimiter)
    assert phrases(outside) == ()


@given(text=st.text(alphabet="0123456789 afimr", min_size=1, max_size=15))
def test_case_form_and_blanks_change_no_meaning(text: str) -> None:
    plain = a_folder(f"Snooze/{text}")
    other = a_folder(f"sNOOZE/  {unicodedata.normalize('NFD', text).replace(' ', '   ')}  ")
    assert phrases(plain) == phrases(other)
