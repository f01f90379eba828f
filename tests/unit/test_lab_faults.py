"""Each button and each step of the lab leads to a file and a test that exist, and says what happens in one sentence."""

from pathlib import Path

import pytest

from lab.faults import BY_NAME, FAULTS, Fault
from lab.scenes import SCENES, Scene
from snoozer.web import BLUEPRINTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("each", [*FAULTS, *SCENES], ids=lambda each: each.name)
def test_it_leads_to_a_file_and_a_test(each: Fault | Scene) -> None:
    assert (ROOT / each.file).is_file()
    assert (ROOT / each.test).is_file()
    assert each.test.startswith("tests/")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_it_says_in_one_sentence_what_happens_next(fault: Fault) -> None:
    assert fault.next.endswith(".")
    assert fault.next.count(". ") == 0
    assert fault.guard.endswith(".")


def test_every_button_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(FAULTS)


def test_the_tour_has_its_nine_steps() -> None:
    names = ["claim", "lease", "token", "ledger", "mark", "dot", "recovery", "breaker", "isolation"]
    assert [scene.name for scene in SCENES] == names


def test_the_guarantees_have_the_same_scenes_as_text() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text()
    assert [scene.title for scene in SCENES if f"**{scene.title}.**" not in text] == []


def test_no_other_site_has_the_lab() -> None:
    assert "lab" not in {blueprint.name for blueprint in BLUEPRINTS}
