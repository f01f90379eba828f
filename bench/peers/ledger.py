"""A ledger for a peer, so that it keeps the same protocol as Snoozer: a row for each mail, inserted before its final
dot leaves and completed after the reply.

Without it, no other queue can tell after a crash which mail may have been sent.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import asyncpg

CREATE = """
CREATE TABLE IF NOT EXISTS peer_sends (
    number bigint PRIMARY KEY,
    state text NOT NULL,
    digest text NOT NULL,
    authorised_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    sent_at timestamptz
)
"""
AUTHORISE = """
INSERT INTO peer_sends (number, state, digest)
SELECT mail.number, 'sending', mail.digest
FROM unnest($1::bigint[], $2::text[]) AS mail (number, digest)
ON CONFLICT (number) DO NOTHING
RETURNING number
"""
RECORD = """
UPDATE peer_sends SET state = 'sent', sent_at = clock_timestamp()
WHERE number = ANY($1::bigint[]) AND state = 'sending'
"""
# A batch has what was gathered in this time; Snoozer's marks gather as long.
LINGER_SECONDS = 0.003


class NotAuthorised(Exception):
    """Another worker has entered this mail."""


class Batch:
    """Requests that are executed one by one, or together with all that were gathered for a moment."""

    def __init__(self, execute: Callable[[Sequence[tuple[int, str]]], Awaitable[None]], *, linger: float) -> None:
        self._execute = execute
        self._linger = linger
        self._gathered: list[tuple[int, str]] = []
        self._done: asyncio.Future[None] | None = None

    async def run(self, number: int, digest: str) -> None:
        """Return when the statement with this request is committed."""
        if not self._linger:
            await self._execute([(number, digest)])
            return
        self._gathered.append((number, digest))
        if self._done is None:
            self._done = asyncio.ensure_future(self._flush())
        await self._done

    async def _flush(self) -> None:
        await asyncio.sleep(self._linger)
        batch, self._gathered, self._done = self._gathered, [], None
        await self._execute(batch)


class Ledger:
    """The ledger of one process. `batched`: many mails in one statement, as a good engineer would write it."""

    def __init__(self, pool: asyncpg.Pool, *, batched: bool) -> None:
        self._pool = pool
        linger = LINGER_SECONDS if batched else 0.0
        self._authorised = Batch(self._insert, linger=linger)
        self._recorded = Batch(self._update, linger=linger)

    async def authorise(self, number: int, digest: str) -> None:
        """Enter a mail before its dot. Raises NotAuthorised."""
        await self._authorised.run(number, digest)

    async def record(self, number: int) -> None:
        """Complete the entry after the reply."""
        await self._recorded.run(number, "")

    async def _insert(self, mails: Sequence[tuple[int, str]]) -> None:
        rows = await self._pool.fetch(AUTHORISE, [number for number, _ in mails], [digest for _, digest in mails])
        if len(rows) < len(mails):
            raise NotAuthorised

    async def _update(self, mails: Sequence[tuple[int, str]]) -> None:
        await self._pool.execute(RECORD, [number for number, _ in mails])
