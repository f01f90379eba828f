"""`snoozer mcp`: the tools of an assistant by the Model Context Protocol, over stdio or HTTP.

It speaks to the API only. Over HTTP each request is made with its own token; nothing is kept from one request to the
next. The extra `snoozer[mcp]` installs the SDK, so it is imported when it is needed.
"""

from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext
from signal import SIG_DFL, SIGINT, signal
from typing import TYPE_CHECKING, Any

import click

from snoozer.cli.console import refuse
from snoozer.cli.remote import address, connected
from snoozer.client import Client

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

# Over HTTP a person waits, and so does a thread.
LONGEST_HTTP_WAIT = 10.0
MAX_BODY_BYTES = 64 * 1024
MAX_CONNECTIONS = 100
LOCAL = ("127.0.0.1", "localhost", "[::1]")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


@click.command("mcp")
@click.option("--http", "listen", metavar="HOST:PORT", help="Serve HTTP at /mcp instead of stdio.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="A name under which clients reach it by HTTP.")
def command(listen: str | None, names: tuple[str, ...]) -> None:
    """Let an assistant snooze for you by the Model Context Protocol, at the Snoozer of SNOOZER_URL.

    Over stdio it acts by your SNOOZER_TOKEN; with --http each request needs a token of its own as a bearer.
    """
    try:
        from snoozer.cli.assistant_server import a_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        refuse("this needs what `pip install 'snoozer[mcp]'` installs.")
    if listen is None:
        # The SDK reads stdin in a thread, which Python's own handler would wait for.
        signal(SIGINT, SIG_DFL)
        with connected() as client:
            a_server(lambda _: nullcontext(client)).run("stdio")
        return
    _serve(listen, names)


def _serve(listen: str, names: tuple[str, ...]) -> None:
    """Serve until it is stopped."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from snoozer.cli.assistant_server import a_server

    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        refuse("--http takes HOST:PORT, such as 127.0.0.1:8765.")
    known = {*names, *(LOCAL if host in {*LOCAL, "::1"} else ())} or {host}
    if known & {"0.0.0.0", "[::]"}:  # noqa: S104 - refused
        refuse("--http listens on all addresses: say by --name under which one clients reach it.")
    security = TransportSecuritySettings(
        allowed_hosts=[one for name in known for one in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{end}" for name in known for scheme in ("http", "https") for end in ("", ":*")
        ],
    )
    app = a_server(_by_bearer(address())).streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=security,
    )
    uvicorn.run(
        _with_tokens(app),
        host=host.strip("[]"),
        port=int(port),
        log_level="warning",
        access_log=False,
        limit_concurrency=MAX_CONNECTIONS,
    )


def _by_bearer(url: str) -> "Callable[[Context[Any, Any]], Any]":
    """Connects by the token of the request."""

    @contextmanager
    def connect(context: "Context[Any, Any]") -> Iterator[Client]:
        given = (context.headers or {}).get("authorization", "")
        with Client(url, _token_of(given), longest_wait=LONGEST_HTTP_WAIT) as client:
            yield client

    return connect


def _token_of(authorization: str) -> str:
    """The bearer token, empty if there is none that a header may have."""
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and token.isascii() and token.isprintable() else ""


def _with_tokens(app: App) -> App:
    """Refuse requests without a token (RFC 6750); whether one is valid, the API says."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _token_of(
            dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        ):
            headers = [(b"www-authenticate", b'Bearer realm="snoozer"'), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body"})
            return
        await app(scope, receive, send)

    return answer
