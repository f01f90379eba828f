"""Containerfile, compose.yaml and systemd units start commands that exist, with settings that exist."""

import re
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from snoozer import __version__
from snoozer.cli import COMMANDS
from snoozer.settings import Settings
from tests.process.conftest import ROOT

DEPLOY = ROOT / "deploy"
SETTINGS = {field.alias for field in Settings.model_fields.values()}
NO_SETTINGS = {"PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "SNOOZER_OWNER"}
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
OURS = {name: service for name, service in COMPOSE.items() if service["image"] == "snoozer"}
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


@pytest.mark.parametrize("name", sorted(OURS.keys() - {"secrets"}))
def test_a_service_of_the_compose_file_is_a_command_with_settings(name: str) -> None:
    service = OURS[name]
    assert service["command"][0] in COMMANDS
    assert set(service["environment"]) <= SETTINGS
    if "healthcheck" in service:
        assert service["healthcheck"]["test"][:3] == ["CMD", "snoozer", "health"]
    assert service["read_only"]


def test_the_compose_file_has_every_process_and_starts_it_after_what_it_needs() -> None:
    processes = re.findall(r"^(\w+):", (ROOT / "Procfile").read_text(), re.MULTILINE)
    assert set(processes) - {"release"} <= COMPOSE.keys()
    for service in COMPOSE.values():
        assert service.get("depends_on", {}).keys() <= COMPOSE.keys()
    assert COMPOSE["worker"]["deploy"]["replicas"] == 3


def test_the_first_start_makes_secrets_that_the_settings_read() -> None:
    kept = re.findall(r'keep\("(\w+)"', COMPOSE["secrets"]["command"][0])
    assert set(kept) - {"POSTGRES_PASSWORD"} <= SETTINGS


def test_the_container_has_what_it_copies_and_names_settings() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (?!--)(.*)", text, re.MULTILINE) for word in line.split()[:-1]]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert set(re.findall(r"^(?:ENV|   ) *([A-Z_]+)=", text, re.MULTILINE)) <= SETTINGS | NO_SETTINGS
    [command] = re.findall(r'^CMD \["([\w-]+)"\]', text, re.MULTILINE)
    assert command in COMMANDS


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_without_rights(unit: Path) -> None:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    service = parser["Service"]
    command = service["ExecStart"].split()[1]
    assert command == "%i" or command in COMMANDS
    assert (service["User"], service["NoNewPrivileges"], service["CapabilityBoundingSet"]) == ("snoozer", "yes", "")


def test_the_unit_lets_a_worker_lower_its_own_priority() -> None:
    """Without it the kernel kills each worker at its start."""
    filters = re.findall(
        r"^SystemCallFilter=(.*)$", (DEPLOY / "systemd" / "snoozer@.service").read_text(), re.MULTILINE
    )
    denied = next(n for n, calls in enumerate(filters) if "@resources" in calls)
    assert "setpriority" in " ".join(filters[denied + 1 :]).split()


def test_the_target_wants_every_process() -> None:
    wanted = re.findall(r"snoozer[@-](\w+)\.service", (DEPLOY / "systemd" / "snoozer.target").read_text())
    assert set(wanted) == {"web", "worker", "clock", "inbound", "mailbox"}


def test_the_chart_starts_commands_with_settings_that_exist() -> None:
    """`make helm` renders it; here its texts are read."""
    chart = DEPLOY / "helm" / "snoozer"
    about, values = (yaml.safe_load((chart / name).read_text()) for name in ("Chart.yaml", "values.yaml"))
    assert about["version"] == about["appVersion"] == __version__
    processes = values.keys() & COMMANDS.keys()
    assert processes == {"web", "worker", "clock", "inbound", "mailbox", "migrate"}
    templates = "".join(file.read_text() for file in (chart / "templates").iterdir())
    assert set(re.findall(r'\(list "([\w-]+)"', templates)) == processes
    assert set(re.findall(r"\bname: ([A-Z_]+)\b", templates)) <= SETTINGS
    assert set(re.findall(r"--from-literal=(\w+)=", (chart / "values.yaml").read_text())) <= SETTINGS
    used = set(re.findall(r"(?:\.Values|\$values)\.(\w+)", templates)) - {"cloudnativepg"}
    assert used <= values.keys()
