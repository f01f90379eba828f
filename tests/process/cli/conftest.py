"""Ann's site, and a machine on which an assistant of hers runs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db.scopes import Scope
from snoozer.people import api_tokens
from snoozer.settings import Settings
from tests.api_sites import a_site
from tests.assistants import environment
from tests.factories import ANN, People, Person, now

TODAY = "/settings/programs/today"
# A zone in which it is the morning of a day now, so that no phrase lies at its end.
ZONE = f"Etc/GMT{(now().hour - 10 + 11) % 24 - 11:+d}"


@dataclass(frozen=True)
class Place:
    """Ann's site, her browser, and a machine on which an assistant runs."""

    engine: Engine
    browser: FlaskClient
    ann: Person
    token: str
    url: str
    home: Path

    @property
    def environ(self) -> dict[str, str]:
        return environment(self.url, self.home, token=self.token)

    def rows(self) -> dict[int, Any]:
        """The terms of each snooze, by its id."""
        wanted = "SELECT id, COALESCE(scheduled_for, remind_at), note, inactive, outcome, recurrence FROM email_snoozes"
        with self.engine.connect() as connection:
            return {row.id: tuple(row) for row in connection.execute(text(wanted))}

    def undo_all(self) -> str:
        page = self.browser.get(TODAY).text
        fields = {name: re.findall(rf'name="{name}" value="([^"]+)"', page)[0] for name in ("day", "newest")}
        return self.browser.post(f"{TODAY}/undo", data=fields, follow_redirects=True).text

    def a_token(self, *scopes: Scope) -> str:
        with self.engine.begin() as connection:
            made = api_tokens.create(connection, email=ANN, name="Assistant", scopes=scopes)
            assert made is not None
            return made.secret


@pytest.fixture
def place(engine: Engine, settings: Settings, app: Flask, people: People, tmp_path: Path) -> Iterator[Place]:
    ann, browser = people.ann(zone=ZONE), app.test_client()
    browser.set_cookie("snoozer_session", ann.session)
    with a_site(engine, settings) as url:
        empty = Place(engine, browser, ann, "", url, tmp_path)
        yield Place(engine, browser, ann, empty.a_token(Scope.SNOOZES_READ, Scope.SNOOZES_WRITE), url, tmp_path)
