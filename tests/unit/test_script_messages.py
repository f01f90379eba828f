"""Scripts say what pages pass to them: each sentence is a message, and each message is found."""

import re
from pathlib import Path

import pytest

from snoozer.translations import speaking
from snoozer.web.text.script_messages import script_messages

STATIC = Path(__file__).resolve().parents[2] / "static"
SCRIPTS = sorted(STATIC.glob("*.js"))
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
MESSAGE = re.compile(r"\b_\(\s*\"((?:[^\"\\\n]|\\.)*)\"")
LITERAL = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`")
INSERTED = re.compile(r"\$\{[^{}]*\}")
SENTENCE = re.compile(r"\b[A-Z][a-z]+[,:.]? [a-z]+|[a-z]{2}[:.] [A-Za-z]")
SHOWN = re.compile(r"(?:announce\(|textContent\s*[=:]|\bname:|\babout:|showError\(|fail\()\s*[\"`][^\"`$]*[a-z]{2}")


def source(script: Path) -> str:
    return COMMENT.sub("", script.read_text())


def test_each_message_of_a_script_is_passed_to_a_page_in_another_language() -> None:
    used = {message for script in SCRIPTS for message in MESSAGE.findall(source(script))}
    with speaking("de"):
        found = script_messages()
    assert used == found.keys()
    assert all(found.values())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_sentence_stands_in_a_script_outside_of_a_message(script: Path) -> None:
    left = MESSAGE.sub("_(0", source(script))
    literals = ["".join(found) for found in LITERAL.findall(INSERTED.sub("0", left))]
    assert [literal for literal in literals if SENTENCE.search(literal)] == []
    assert SHOWN.findall(left) == []


def test_a_sentence_that_is_not_a_message_is_found() -> None:
    for line in ('announce("Not saved.")', "x.textContent = `Go to ${page}`", 'name: "Undo"'):
        assert SHOWN.search(line), line
    assert SENTENCE.search("Nothing was done: choose a message first, with j or k.")


def test_pages_in_english_bring_no_messages() -> None:
    assert script_messages() == {}
    with speaking("de"):
        assert script_messages()["Not undone."] == "Nicht rückgängig gemacht."
