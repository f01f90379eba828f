"""A worker in the test's own process, whose loop the test turns by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from snoozer.cli.worker import build_worker, connection_pool, delivery_config, start_heartbeat
from snoozer.delivery.claiming import no_failpoint
from snoozer.delivery.worker import Worker
from snoozer.queue.fact_journal import FactJournal
from snoozer.settings import Settings
from tests.process.conftest import Field


@contextmanager
def a_worker(place: Field, settings: Settings) -> Iterator[Worker]:
    """With the mail server and the database of `place`; closed at the end of the block."""
    place.home.mkdir()
    given = settings.model_dump(by_alias=True) | {"SMTP_URL": f"smtp://127.0.0.1:{place.sink.port}"}
    settings = Settings(**given)
    config = delivery_config(settings)
    journal = FactJournal(place.home, worker=config.worker)
    heartbeat = start_heartbeat(settings, place.engine, worker=config.worker)
    worker = build_worker(
        settings,
        place.engine,
        config=config,
        pool=connection_pool(settings, helo=config.domain, concurrency=8),
        journal=journal,
        heartbeat=heartbeat,
        failpoint=no_failpoint,
        stopping=Event(),
        batch_size=10,
    )
    try:
        yield worker
    finally:
        worker.close()
        heartbeat.stop()
        journal.close()
