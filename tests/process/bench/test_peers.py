"""The other queues deliver what they are asked to, where `make compare` has installed them.

The run names it when they are left out.
"""

from collections.abc import Iterator

import pytest

from bench.comparison import drains, scheduled
from bench.comparison.contestants import QUEUES, peer
from bench.comparison.contestants import scheduled as scheduled_contestants
from bench.comparison.stage import Stage, journal_stage
from bench.peers import redis_server, venv
from bench.report import BenchError

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


@pytest.mark.parametrize("queue", QUEUES)
def test_a_peer_sends_what_is_scheduled_and_never_too_early(queue: str, stage: Stage) -> None:
    need_broker(queue)
    [_, one] = scheduled_contestants(concurrency=4, batch=50, queues=[queue])
    late = scheduled.measure(one, stage, rows=20, seconds=1, number=1, progress=lambda done: None)
    assert late.rows == len(late.curve) == 20
    # PgQueuer is given a delay, not a time.
    assert late.first_ms > -100
