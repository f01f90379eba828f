"""`snoozer when`: the same grammar at the command line, without a database, and never a traceback."""

import json
import re

import pytest
from click.testing import CliRunner, Result

from snoozer.cli.when import command
from snoozer.resources import resource_folder

DESK = ["--now", "2026-03-05T10:20:00", "--zone", "America/New_York"]


def _when(*arguments: str) -> Result:
    result = CliRunner().invoke(command, [*arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_it_prints_the_instant_and_flags_then_the_sentence() -> None:
    result = _when("next", "friday", *DESK)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "2026-03-13T08:00:00-04:00 ambiguous",
        "Friday, March 13, 8:00 am (in 8 days), America/New York. It could also mean Friday, March 6, 8:00 am.",
    ]


def test_json_is_one_line_of_the_contract() -> None:
    result = _when("in 10 minutes", "--json", *DESK)
    assert result.stdout.count("\n") == 1
    assert json.loads(result.stdout) == {
        "kind": "instant",
        "at": "2026-03-05T10:30:00-05:00",
        "flags": [],
        "alternative": None,
        "recurrence": None,
        "condition": None,
        "reading": "Thursday, March 5, 10:30 am (in 10 minutes), America/New York.",
    }


def test_an_error_exits_with_two_and_prints_the_reason() -> None:
    result = _when("tomorrow or friday", *DESK)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("unrecognised: ")
    assert "Try: tomorrow · friday" in result.stderr


def test_an_error_in_json_is_on_standard_output() -> None:
    result = _when("tomorrow or friday", "--json", *DESK)
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"] == "unrecognised"
    assert json.loads(result.stdout)["suggestions"][:2] == ["tomorrow", "friday"]


@pytest.mark.parametrize(
    ("phrase", "code"),
    [
        ("", "empty"),
        ("-2 hours", "negative"),
        ("-2h", "negative"),
        ("in -2 hours", "negative"),
        ("-half an hour", "negative"),
    ],
)
def test_a_phrase_may_begin_with_a_hyphen_or_be_empty(phrase: str, code: str) -> None:
    result = _when(phrase, *DESK)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{code}: ")


def test_help_has_the_options_of_every_other_command() -> None:
    for asked in (_when("-h"), _when("tomorrow", "-h"), _when("--help")):
        assert (asked.exit_code, asked.stderr) == (0, "")
        assert asked.stdout.startswith("Usage:")


def test_no_phrase_at_all_is_an_empty_one() -> None:
    assert _when(*DESK).stderr.startswith("empty: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--now", "yesterday"],
        ["--now", ""],
        ["--zone", "Mars/Olympus"],
        ["--now", "9999-12-31T23:59:59", "--zone", "America/New_York"],
        ["--now", "0001-01-01T00:00:00", "--zone", "Asia/Tokyo"],
    ],
)
def test_a_bad_moment_or_zone_is_one_sentence(arguments: list[str]) -> None:
    result = _when("tomorrow", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[0].endswith(".")


@pytest.mark.parametrize(
    "phrase", ["may 1", "3/4", "feb 29", "monday in january", "first monday of january", "end of may"]
)
def test_what_comes_after_the_end_of_the_calendar_is_too_far(phrase: str) -> None:
    result = _when(phrase, "--now", "9999-12-31T23:59:59", "--zone", "UTC")
    assert result.exit_code == 2
    assert result.stderr.startswith(("too_far: ", "unrecognised: "))


@pytest.mark.parametrize("locale", ["xx_YY", "xx", "en_XX", "english", "", "de_DE\n"])
def test_an_unknown_locale_is_an_error_like_an_unknown_zone(locale: str) -> None:
    result = _when("tomorrow", *DESK, "--locale", locale)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("unknown_locale: ")
    body = json.loads(_when("tomorrow", *DESK, "--json", "--locale", locale).stdout)
    assert (body["error"], body["suggestions"]) == ("unknown_locale", [])


@pytest.mark.parametrize("locale", ["en", "en-gb", "de_DE.UTF-8", "fr_FR", "fil_PH", "zh-Hans-CN", "C.UTF-8", "POSIX"])
def test_a_locale_in_a_systems_spelling_is_accepted(locale: str) -> None:
    assert _when("tomorrow", *DESK, "--locale", locale).exit_code == 0


def test_the_moment_may_carry_its_own_offset() -> None:
    assert _when("9am", "--now", "2026-03-05T15:20:00Z", "--zone", "America/New_York").stdout.startswith(
        "2026-03-06T09:00:00-05:00\n"
    )


def test_without_a_moment_it_is_now_in_utc() -> None:
    result = _when("in 1 hour")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].endswith("+00:00")


GUIDE = (resource_folder("docs") / "guide" / "people.md").read_text()


@pytest.mark.parametrize("folder", sorted(set(re.findall(r'"(Snooze/[^"]+)"', GUIDE))))
def test_each_folder_of_the_guides_rules_means_a_time(folder: str) -> None:
    assert _when("--folder", folder, *DESK).exit_code == 0


@pytest.mark.parametrize(
    ("name", "locale", "at"),
    [
        ("fri 9am", "en_US", "2026-03-06T09:00:00-05:00"),
        ("Snooze/fri 9am", "en_US", "2026-03-06T09:00:00-05:00"),
        ("snooze/9/30", "en_US", "2026-09-30T08:00:00-04:00"),
        ("This evening", "en_US", "2026-03-05T18:00:00-05:00"),
        ("Später heute", "de_DE", "2026-03-05T13:30:00-05:00"),
        ("Spaeter heute", "de_DE", "2026-03-05T13:30:00-05:00"),
    ],
)
def test_a_folder_is_read_as_the_process_of_mailboxes_reads_it(name: str, locale: str, at: str) -> None:
    """Also by the spelling of a usual time that each server accepts."""
    result = _when("--folder", name, "--locale", locale, *DESK)
    assert result.stdout.split()[0] == at


@pytest.mark.parametrize("name", ["when pigs fly", "Snooze", "Snooze/", "/", "\x00", "Snooze/Snoozed"])
def test_a_folder_that_means_no_time_says_what_becomes_of_its_messages(name: str) -> None:
    result = _when("--folder", name, *DESK)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "goes back to the inbox" in result.stderr
