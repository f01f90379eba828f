"""An ASGI application in front of the site: gathers each request's body in the event loop, with limits and deadlines,
and calls the WSGI application in a thread once the body is complete. No thread ever waits for a client, nor for the
next piece of a stream."""

import asyncio
import logging
import re
import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from io import SEEK_END, BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple, TypeVar
from urllib.parse import unquote_to_bytes

from snoozer.web.held_bodies import HeldBodies, HeldBody

log = logging.getLogger("snoozer.web")

T = TypeVar("T")
Environ = dict[str, Any]
Headers = list[tuple[str, str]]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
WSGIApplication = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Stream = AsyncGenerator[bytes, None]

# In the environ: a function that the application calls with a stream, to be sent after its response. The event loop
# reads it until it ends or the client hangs up, and then closes it.
STREAM = "snoozer.stream"
LIVENESS_PATH = "/healthz"

# A body is kept in memory up to this size, and above it in a file.
MEMORY_BYTES = 64 * 1024
# Bytes of a response to write before the client must have taken some of them.
PIECE_BYTES = 64 * 1024
# A file to save, which may wait for a slow client; pages are smaller.
LARGE_BYTES = 1024 * 1024

_ABSOLUTE_TARGET = re.compile(rb"https?://([^/?#@]+)(/[^?#]*)?", re.IGNORECASE)


class BodyLimits(NamedTuple):
    """The allowed size of a body: `usual`, or for an upload the result of `upload` for the request's environ: the size,
    and the name of the sharer that the body counts for. `upload` is called in a thread, before the body is read."""

    usual: int
    is_upload: Callable[[str, str], bool]
    upload: Callable[[Environ], tuple[int, str]]


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The resources of one process that clients may use.

    If no thread is free, up to `waiting` requests wait. A body may take `grace_seconds`, plus the time for the received
    bytes at `bytes_per_second`, and pause for `stall_seconds`. All bodies together have `held_bytes`: uploads leave
    `reserved_bytes` free, and the uploads of one account have `share_bytes`. All large responses that clients have not
    taken yet have `unsent_bytes`, unless there is only one.
    """

    threads: int = 16
    waiting: int = 256
    held_bytes: int = 256 * 1024 * 1024
    reserved_bytes: int = 64 * 1024 * 1024
    share_bytes: int = 64 * 1024 * 1024
    unsent_bytes: int = 256 * 1024 * 1024
    grace_seconds: float = 15.0
    stall_seconds: float = 30.0
    bytes_per_second: float = 16 * 1024


class Response(NamedTuple):
    """`status` is a code and a reason, such as "200 OK". A large body is a file, which is closed once it is sent;
    `stream` follows the body."""

    status: str
    headers: Headers
    body: bytes | IO[bytes]
    stream: Stream | None = None

    @property
    def length(self) -> int:
        """The size of the body in bytes."""
        return len(self.body) if isinstance(self.body, bytes) else self.body.seek(0, SEEK_END)


class Refusal(Exception):
    """The request is answered without the application; `code` is for programs, `text` for people."""

    def __init__(self, status: int, code: str, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status, self.code, self.text, self.headers = status, code, text, headers


class _Gone(Exception):
    """The client hung up."""


class _TooLarge(Exception):
    """The body has more bytes than its limit: at least `length`."""

    def __init__(self, length: int) -> None:
        self.length = length


class Front:
    """Serves a WSGI application. `describe` returns the type and the text of the response to a refused path."""

    def __init__(
        self,
        app: WSGIApplication,
        *,
        limits: BodyLimits,
        capacity: Capacity,
        describe: Callable[[str, Refusal], tuple[str, str]],
    ) -> None:
        self._app, self._limits, self._capacity, self._describe = app, limits, capacity, describe
        self._pool = ThreadPoolExecutor(capacity.threads, thread_name_prefix="page")
        # While the database is away, its requests hold all other threads.
        self._liveness_pool = ThreadPoolExecutor(1, thread_name_prefix="liveness")
        self._in_threads = 0
        self._unsent = 0
        self._bodies = HeldBodies(
            total=capacity.held_bytes,
            reserve=capacity.reserved_bytes,
            share=capacity.share_bytes,
            small=limits.usual,
        )
        self._streams: set[asyncio.Task[None]] = set()

    def end_streams(self) -> None:
        """Ends all streams."""
        for task in self._streams:
            task.cancel()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request (ASGI)."""
        try:
            response = await self._respond(scope, receive)
        except Refusal as refusal:
            response = self._refuse(scope["path"], refusal)
        except _Gone:
            return
        if response.stream is not None:
            await self._go_on(response, response.stream, receive, send)
        else:
            await self._send(scope, response, send)

    async def _go_on(self, response: Response, stream: Stream, receive: Receive, send: Send) -> None:
        """Sends a response with its stream, until either side ends it."""
        await send({"type": "http.response.start", "status": int(response.status[:3]), "headers": _fields(response)})
        sending = asyncio.create_task(_send_pieces(stream, send))
        hanging_up = asyncio.create_task(_until_gone(receive))
        self._streams.add(sending)
        try:
            await asyncio.wait({sending, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.discard(sending)
            sending.cancel()
            hanging_up.cancel()
            await asyncio.gather(sending, hanging_up, return_exceptions=True)
            await stream.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, scope: Message, response: Response, send: Send) -> None:
        """Large responses wait in files for their clients, so few are allowed."""
        size, file = 0, None
        if not isinstance(response.body, bytes):
            size, file = response.length, response.body
        try:
            if size and self._unsent and self._unsent + size > self._capacity.unsent_bytes:
                response, size = self._refuse(scope["path"], _busy()), 0
            self._unsent += size
            try:
                await _write(response, send)
            finally:
                self._unsent -= size
        finally:
            if file is not None:
                file.close()

    def _refuse(self, path: str, refusal: Refusal) -> Response:
        kind, text = self._describe(path, refusal)
        fields = {"Content-Type": kind, "Cache-Control": "no-store", "Connection": "close", **refusal.headers}
        return Response(f"{refusal.status} {HTTPStatus(refusal.status).phrase}", list(fields.items()), text.encode())

    async def _respond(self, scope: Message, receive: Receive) -> Response:
        environ = _environ(scope)
        limit, sharer = self._limits.usual, ""
        if self._limits.is_upload(scope["method"], scope["path"]):
            limit, sharer = await self._in_thread(self._limits.upload, environ)
        held = HeldBody(sharer=sharer)
        try:
            body = await self._gather(receive, limit, held, declared=_content_length(scope))
        except _TooLarge as large:
            # The application detects by the length that it is too large, and has a page that explains it.
            return _last(await self._in_thread(self._call, _with_body(environ, BytesIO(), large.length)))
        try:
            response = await self._in_thread(self._call, _with_body(environ, body, held.length))
        except Refusal:
            body.close()
            raise
        finally:
            self._bodies.release(held)
        # After a request for a host that is not served here, requests on the connection may be for another host.
        return _last(response) if response.status[:3] in {"400", "421"} else response

    async def _gather(self, receive: Receive, limit: int, held: HeldBody, *, declared: int) -> IO[bytes]:
        """Returns the whole body, which counts as held."""
        if declared > limit:
            raise _TooLarge(declared)
        clock = asyncio.get_running_loop().time
        started = clock()
        body = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115 - closed by the thread that reads it
        try:
            while True:
                due = started + self._capacity.grace_seconds + held.length / self._capacity.bytes_per_second
                async with asyncio.timeout_at(min(due, clock() + self._capacity.stall_seconds)):
                    message = await receive()
                if message["type"] == "http.disconnect":
                    raise _Gone
                piece = message.get("body", b"")
                has_room = self._bodies.add(held, len(piece))
                if held.length > limit:
                    raise _TooLarge(held.length)
                if not has_room:
                    raise _busy()
                body.write(piece)
                if not message.get("more_body"):
                    body.seek(0)
                    return body
        except BaseException as error:
            self._bodies.release(held)
            body.close()
            if isinstance(error, TimeoutError):
                text = "The request came too slowly and was not read to its end. Nothing was changed. Send it again."
                raise Refusal(408, "too_slow", text) from None
            raise

    async def _in_thread(self, function: Callable[[Environ], T], environ: Environ) -> T:
        if environ["PATH_INFO"] == LIVENESS_PATH:
            return await asyncio.get_running_loop().run_in_executor(self._liveness_pool, function, environ)
        if self._in_threads >= self._capacity.threads + self._capacity.waiting:
            raise _busy()
        self._in_threads += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function, environ)
        finally:
            self._in_threads -= 1

    def _call(self, environ: Environ) -> Response:
        """The application's response. An error is logged without the request: its path may hold a token."""
        started: list[tuple[str, Headers]] = []
        body = SpooledTemporaryFile(max_size=LARGE_BYTES)  # noqa: SIM115 - closed here, or once it is sent
        streams: list[Stream] = []

        def start_response(status: str, headers: Headers, exc_info: Any = None) -> Callable[[bytes], Any]:
            started.append((status, headers))
            return body.write

        try:
            with environ["wsgi.input"]:
                result = self._app({**environ, STREAM: streams.append}, start_response)
                try:
                    for piece in result:
                        body.write(piece)
                finally:
                    if hasattr(result, "close"):
                        result.close()
        except Exception as error:
            body.close()
            frames = "".join(traceback.format_tb(error.__traceback__))
            log.error("A request broke the server: %s\n%s", type(error).__name__, frames)
            raise Refusal(500, "failed", "Something broke here. It was written to the log.") from None
        if body.tell() > LARGE_BYTES:
            return Response(*started[-1], body)
        with body:
            body.seek(0)
            return Response(*started[-1], body.read(), streams[0] if streams else None)


def _last(response: Response) -> Response:
    """The connection is closed after it."""
    return response._replace(headers=[*response.headers, ("Connection", "close")])


def _busy() -> Refusal:
    text = "Too many requests wait here now. Nothing was changed. Try again in a minute."
    return Refusal(503, "busy", text, **{"Retry-After": "30"})


async def _send_pieces(stream: Stream, send: Send) -> None:
    async for piece in stream:
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _fields(response: Response) -> list[tuple[bytes, bytes]]:
    """The header fields; a streamed response has no length."""
    return [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in response.headers
        if response.stream is None or name.lower() != "content-length"
    ]


async def _write(response: Response, send: Send) -> None:
    code, body, length = int(response.status[:3]), response.body, response.length
    headers = _fields(response)
    if code >= 200 and code not in {204, 304} and all(name.lower() != b"content-length" for name, _ in headers):
        headers.append((b"content-length", str(length).encode()))
    await send({"type": "http.response.start", "status": code, "headers": headers})
    file = BytesIO(body) if isinstance(body, bytes) else body
    file.seek(0)
    for start in range(0, max(1, length), PIECE_BYTES):
        more = start + PIECE_BYTES < length
        await send({"type": "http.response.body", "body": file.read(PIECE_BYTES), "more_body": more})


def _content_length(scope: Message) -> int:
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


def _with_body(environ: Environ, body: IO[bytes], length: int) -> Environ:
    return {**environ, "wsgi.input": body, "CONTENT_LENGTH": str(length)}


def _environ(scope: Message) -> Environ:
    """The request for WSGI (PEP 3333), without its body. A target that is a full URL also names the host (RFC 9112,
    3.2.2); targets that are neither that nor a path are refused."""
    path, host = scope["raw_path"], None
    if not path.startswith(b"/"):
        absolute = _ABSOLUTE_TARGET.fullmatch(path)
        if absolute is None:
            raise Refusal(400, "bad_request", "The target of this request is neither a path nor a URL.")
        host, path = absolute[1].decode("latin-1"), absolute[2] or b"/"
    server_name, server_port = scope.get("server") or ("localhost", None)
    client_name, client_port = scope.get("client") or ("", None)
    return {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": str(server_name),
        "SERVER_PORT": str(server_port or 80),
        "REMOTE_ADDR": str(client_name),
        "REMOTE_PORT": str(client_port or ""),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **_header_variables(scope["headers"]),
        **({"HTTP_HOST": host} if host is not None else {}),
    }


def _header_variables(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Header fields as variables. A name with an underscore would pass for a name with a hyphen, and is left out."""
    variables: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").upper(), raw_value.decode("latin-1")
        if "_" in name or name in {"CONTENT-LENGTH", "TRANSFER-ENCODING"}:
            continue
        variable = "CONTENT_TYPE" if name == "CONTENT-TYPE" else f"HTTP_{name.replace('-', '_')}"
        if variable in variables:
            value = f"{variables[variable]}{'; ' if name == 'COOKIE' else ','}{value}"
        variables[variable] = value
    return variables
