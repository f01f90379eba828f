"""Whatever signal stops a process, it exits with 0 and leaves no process behind."""

import os
import re
import signal

import pytest
from sqlalchemy import text

from tests.factories import wait_until_a_session_waits
from tests.imap.server_process import free_port
from tests.process.conftest import Field, wait
from tests.process.exits import ended, workers
from tests.processes import processes_of

NOWHERE = "postgresql://snoozer:secret@127.0.0.1:1/snoozer"


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM])
def test_a_worker_deregisters_at_each_signal_to_stop(place: Field, how: signal.Signals) -> None:
    """A closed terminal ended it as a crash does, with its rows still claimed."""
    process = place.start("worker")
    wait(lambda: workers(place.engine, "alive") == 1)
    process.send_signal(how)
    assert ended(process)[0] == 0
    assert workers(place.engine, "alive", "draining") == 0


def test_a_worker_started_with_nohup_outlives_its_terminal(place: Field) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = place.start("worker")
    finally:
        signal.signal(signal.SIGHUP, before)
    wait(lambda: workers(place.engine, "alive") == 1)
    process.send_signal(signal.SIGHUP)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP])
def test_processes_side_by_side_end_with_the_one_that_started_them(place: Field, how: signal.Signals) -> None:
    """They went on as orphans, and a restart doubled them; no signal reached the orphans."""
    process = place.start("worker", "--processes", "2")
    wait(lambda: workers(place.engine, "alive") == 2)
    process.send_signal(how)
    ended(process)
    wait(lambda: processes_of(place.home) == [])
    assert workers(place.engine, "alive", "draining") == 0


def test_workers_that_fail_are_started_later_each_time(place: Field) -> None:
    """Each second all of them began anew, for as long as the database was not there."""
    process = place.start("worker", "--processes", "2", DATABASE_URL=NOWHERE)
    assert process.stderr is not None
    pauses: list[str] = []
    while pauses.count("2") < 2:
        pauses += re.findall(r"another one is started in (\S+) s", process.stderr.readline())
        assert process.poll() is None
    assert (pauses[0], pauses[-1]) == ("1", "2")
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 0


def test_a_worker_among_others_is_replaced_at_once(place: Field) -> None:
    process = place.start("worker", "--processes", "2")
    wait(lambda: workers(place.engine, "alive") == 2)
    [lost, *_] = [int(line.split()[0]) for line in processes_of(place.home) if b"--parent=" in line.encode()]
    os.kill(lost, signal.SIGKILL)
    assert process.stderr is not None
    while "a worker was ended by SIGKILL; another one is started in 1 s" not in process.stderr.readline():
        assert process.poll() is None
    with place.engine.connect() as connection:
        wait(lambda: bool(connection.execute(text("SELECT count(*) > 2 FROM workers")).scalar()))
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 0


def test_a_clock_with_metrics_ends_well(place: Field) -> None:
    """The thread that serves them took the signal, and the process ended in the middle of a chore."""
    process = place.start("clock", SNOOZER_METRICS_PORT=str(free_port()))
    assert process.stderr is not None
    while not re.search("metrics are served", process.stderr.readline()):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 0


def test_a_clock_that_is_signalled_twice_ends_well(place: Field) -> None:
    process = place.start("clock")
    with place.engine.begin() as holder:
        holder.execute(text("LOCK TABLE server_starts IN ACCESS EXCLUSIVE MODE"))
        wait_until_a_session_waits(place.engine)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
    code, output = ended(process)
    assert code == 0
    assert "Traceback" not in output
