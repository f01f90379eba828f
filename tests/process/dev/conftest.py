from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snoozer.dev import dovecot
from snoozer.dev.binaries import Binaries, find, from_wheel
from snoozer.dev.postgres import Postgres
from tests.imap.server_process import free_port


@pytest.fixture
def home(open_folder: Path) -> Path:
    folder = open_folder / "home"
    folder.mkdir(mode=0o711)
    return folder


@pytest.fixture(autouse=True)
def _own_imap_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests run `snoozer up` at the same time, whose Dovecot wants the usual one."""
    monkeypatch.setattr(dovecot, "DEFAULT_PORT", free_port())


@pytest.fixture(params=["system", "wheel"])
def pg_bin(request: pytest.FixtureRequest) -> Path:
    found: Binaries | None = find() if request.param == "system" else from_wheel()
    if found is None or (request.param == "system" and "pginstall" in str(found.folder)):
        pytest.skip(f"there is no PostgreSQL of the {request.param}'s here")
    return found.folder


@pytest.fixture
def a_postgres(home: Path, open_folder: Path) -> Iterator[Callable[..., Postgres]]:
    """Makes Postgres objects for one home, and stops whatever runs there afterwards."""
    made: list[Postgres] = []

    def make(at: Path = home, **options: object) -> Postgres:
        made.append(Postgres(at, shared=open_folder / "shared", **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for postgres in made:
        postgres.stop()
