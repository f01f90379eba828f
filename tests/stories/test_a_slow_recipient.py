"""One recipient's server takes its time; everybody else's reminders are not late for that."""

import asyncio
import threading
from collections.abc import Iterator
from functools import partial

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.factories import a_snooze, now, the_row
from tests.stories.conftest import PATIENCE, Field, wait


class Staller:
    """Answers everybody at once, but for one address whose answer it keeps back until it is told."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.release = asyncio.Event()
        self.port = 0
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.ready.wait()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if envelope.rcpt_tos == ["slow@snoozer.example"]:
            await self.release.wait()
        return "250 2.0.0 queued as 4SLOW"

    def let_go(self) -> None:
        self.loop.call_soon_threadsafe(self.release.set)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        serving = self.loop.create_server(lambda: SMTP(self, loop=self.loop), "127.0.0.1", 0)
        server = self.loop.run_until_complete(serving)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()
        server.close()


@pytest.fixture
def staller() -> Iterator[Staller]:
    staller = Staller()
    yield staller
    staller.let_go()
    staller.stop()


def test_a_stalled_delivery_does_not_keep_later_ones_waiting(place: Field, staller: Staller) -> None:
    slow = a_snooze(place.engine, user_email="slow@snoozer.example")
    worker = place.start("worker", SMTP_URL=f"smtp://127.0.0.1:{staller.port}")
    try:
        wait(lambda: the_row(place.engine, slow).claimed_at is not None)
        for _ in range(3):
            quick = a_snooze(place.engine, remind_at=now())
            wait(partial(is_sent, place, quick))
        assert the_row(place.engine, slow).outcome is None
        staller.let_go()
        wait(partial(is_sent, place, slow))
    finally:
        worker.terminate()
        worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0


def is_sent(place: Field, id: int) -> bool:
    return bool(the_row(place.engine, id).outcome == "sent")
