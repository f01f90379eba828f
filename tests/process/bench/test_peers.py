"""The other queues deliver what they are asked to, where `make compare` has installed them.

The run names it when they are left out.
"""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from bench.comparison import drains, scheduled
from bench.comparison.contestants import KEEPS_LEDGER, LEDGERS, QUEUES, empty_queue, peer
from bench.comparison.contestants import scheduled as scheduled_contestants
from bench.comparison.stage import Stage, journal_stage
from bench.peers import redis_server, venv
from bench.report import BenchError
from bench.schedule import Schedule
from tests.process.conftest import wait

pytestmark = pytest.mark.skipif(
    not venv.is_installed(), reason="left out: bench/.venv is missing or old (make compare)"
)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with journal_stage(processes=1, python=venv.python()) as one:
        yield one


def need_broker(queue: str) -> None:
    if queue == "celery":
        try:
            redis_server.program()
        except BenchError as error:
            pytest.skip(f"left out: {error}")


@pytest.mark.parametrize("does", ["send", "library"])
@pytest.mark.parametrize("queue", QUEUES)
def test_a_peer_sends_every_mail_once(queue: str, does: str, stage: Stage) -> None:
    need_broker(queue)
    run = drains.measure(peer(queue, does), stage, rows=100, number=1, progress=lambda done: None)
    assert (run.rows, run.duplicates) == (100, 0)
    assert run.rate > 0
    assert (run.commands is not None) == (queue == "celery")


@pytest.mark.parametrize("does", LEDGERS)
@pytest.mark.parametrize("queue", KEEPS_LEDGER)
def test_a_peer_with_a_ledger_enters_each_mail_before_its_dot(queue: str, does: str, stage: Stage) -> None:
    run = drains.measure(peer(queue, does), stage, rows=100, number=1, progress=lambda done: None)
    assert (run.rows, run.duplicates) == (100, 0)
    with empty_queue(peer(queue, does), stage) as at_work, at_work.working():
        at_work.enqueue(Schedule(rows=10))
        wait(lambda: _count(at_work.engine, "state = 'sent' AND authorised_at < sent_at") == 10)


@pytest.mark.parametrize("queue", QUEUES)
def test_a_peer_sends_what_is_scheduled_and_never_too_early(queue: str, stage: Stage) -> None:
    need_broker(queue)
    [_, one] = scheduled_contestants(concurrency=4, batch=50, queues=[queue])
    late = scheduled.measure(one, stage, rows=20, seconds=1, number=1, progress=lambda done: None)
    assert late.rows == len(late.curve) == 20
    # PgQueuer is given a delay, not a time.
    assert late.first_ms > -100


def _count(engine: Engine, condition: str) -> int:
    with engine.connect() as connection:
        count = text(f"SELECT count(*) FROM peer_sends WHERE {condition}")  # noqa: S608 - of this file
        return int(connection.execute(count).scalar_one())
