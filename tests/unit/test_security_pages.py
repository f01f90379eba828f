"""SECURITY.md, docs/threats.md and docs/asvs.md: nothing is left out, and what they name exists."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = {name: (ROOT / name).read_text() for name in ("SECURITY.md", "docs/threats.md", "docs/asvs.md")}
THREATS, ASVS = PAGES["docs/threats.md"], PAGES["docs/asvs.md"]
# How many requirements ASVS 5.0 has of each level.
LEVEL_1, LEVEL_2 = 70, 183
STATUSES = {"met", "partly", "not met", "n/a"}


def rows(page: str) -> Iterator[list[str]]:
    """The cells of each row of the page's tables."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) > 1:
            yield cells


@pytest.mark.parametrize("name", PAGES)
def test_every_file_that_a_page_names_exists(name: str) -> None:
    named = re.findall(r"`((?:snoozer|tests|docs)/[\w./-]+)`", PAGES[name])
    linked = [(ROOT / name).parent / link for link in re.findall(r"\]\(([^)#:]+)\)", PAGES[name])]
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert [path for path in linked if not path.exists()] == []


def test_every_threat_has_a_control_and_a_test() -> None:
    threats = {number: rest for number, *rest in rows(THREATS) if re.fullmatch(r"T\d+", number)}
    assert list(threats) == [f"T{number}" for number in range(1, 53)]
    without = {number for number, (_, control, test) in threats.items() if not control or "`tests/" not in test}
    assert without == set()


def test_every_requirement_of_the_standard_is_answered_once() -> None:
    answered = Counter(
        number for cells in rows(ASVS) for number in re.findall(r"(?<![\d.])\*{0,2}\d+\.\d+\.\d+", cells[0])
    )
    assert [number for number, times in answered.items() if times > 1] == []
    bold = {number for number in answered if number.startswith("**")}
    assert (len(bold), len(answered) - len(bold)) == (LEVEL_1, LEVEL_2)


def test_every_answer_has_a_status_and_what_is_not_met_a_reason() -> None:
    for requirements, status, how, test in rows(ASVS):
        if re.search(r"\d", requirements):
            assert status in STATUSES, requirements
            assert how, requirements
            assert "`tests/" in test or not test, requirements
