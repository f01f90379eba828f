"""Each way to install is a few commands that the documentation prints; `make newcomer` types them on a machine with
nothing of ours, and waits for the first reminder."""

import re

import pytest

from snoozer.cli import COMMANDS
from tests.process.conftest import ROOT
from tests.process.newcomer.guide import MOST_COMMANDS, WAYS


@pytest.mark.parametrize("name", sorted(WAYS))
def test_a_way_to_install_is_at_most_five_commands(name: str) -> None:
    commands = WAYS[name].commands()
    assert 0 < len(commands) <= MOST_COMMANDS, commands


@pytest.mark.parametrize("name", sorted(WAYS))
def test_what_a_newcomer_types_is_there(name: str) -> None:
    text = WAYS[name].block()
    assert [file for file in re.findall(r"\bdeploy/[\w./]+", text) if not (ROOT / file).is_file()] == []
    assert set(re.findall(r"(?:&& |^)snoozer ([\w-]+)", text, re.M)) <= COMMANDS.keys()
