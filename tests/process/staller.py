"""A mail server that keeps one recipient's answer back."""

import asyncio
import threading

from aiosmtpd.smtp import SMTP, Envelope, Session


class Staller:
    """Replies at once, except for one address, whose reply it keeps back until `let_go` is called."""

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
