"""A mail server that takes some seconds to accept each mail, as a process of its own; it prints its port first."""

import asyncio
import sys

from aiosmtpd.smtp import SMTP, Envelope, Session


class Slow:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        await asyncio.sleep(self.seconds)
        return "250 2.0.0 queued as 4SLOW"


async def serve(seconds: float) -> None:
    slow, loop = Slow(seconds), asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(slow, loop=loop), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
