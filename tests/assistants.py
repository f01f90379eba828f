"""The reference client of the MCP SDK, which calls `snoozer mcp` as an assistant does: over stdio, and over HTTP."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer

from snoozer.dev import ports

T = TypeVar("T")
COMMAND = [sys.executable, "-m", "snoozer", "mcp"]


@dataclass(frozen=True)
class Reply:
    """A tool's answer: what a model reads, and the structured content."""

    text: str
    refused: bool
    content: dict[str, Any]

    @property
    def undo(self) -> dict[str, int]:
        return dict(self.content["undo"])

    @property
    def snooze(self) -> int:
        return int(self.content["snoozes"][0]["snooze"])


Call = Callable[..., Awaitable[Reply]]


def environment(url: str, home: Path, *, token: str = "") -> dict[str, str]:
    """The environment of a machine that has the address of a Snoozer, and no database."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {"SNOOZER_URL": url, "SNOOZER_HOME": str(home), "SNOOZER_TOKEN": token}


def over_stdio(environ: dict[str, str], scenario: Callable[[Call, Client], Awaitable[T]], *, mode: str = "auto") -> T:
    """Run the scenario with a server of its own."""
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=environ)
    return asyncio.run(_with(Client(server, mode=mode), scenario))


def in_process(server: MCPServer, scenario: Callable[[Call, Client], Awaitable[T]]) -> T:
    """Run the scenario with a server in this process."""
    return asyncio.run(_with(Client(server), scenario))


@contextmanager
def an_http_server(environ: dict[str, str], *options: str) -> Iterator[str]:
    """The address of a server over HTTP."""
    listen = f"{ports.HOST}:{ports.any_free()}"
    with subprocess.Popen([*COMMAND, "--http", listen, *options], env=environ, stderr=subprocess.PIPE) as process:
        try:
            url = f"http://{listen}/mcp"
            while not _answers(url):
                assert process.poll() is None, process.stderr and process.stderr.read()
                time.sleep(0.05)
            yield url
        finally:
            process.terminate()
            process.wait()


def over_http(url: str, token: str, scenario: Callable[[Call, Client], Awaitable[T]]) -> T:
    """Run the scenario with this token."""

    async def run() -> T:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
            return await _with(Client(streamable_http_client(url, http_client=http)), scenario)

    return asyncio.run(run())


async def _with(client: Client, scenario: Callable[[Call, Client], Awaitable[T]]) -> T:
    async with client:

        async def call(tool: str, **arguments: Any) -> Reply:
            result = await client.call_tool(tool, arguments)
            text = "\n".join(getattr(block, "text", "") for block in result.content)
            return Reply(text, bool(result.is_error), result.structured_content or {})

        return await scenario(call, client)


def _answers(url: str) -> bool:
    try:
        return httpx2.post(url).status_code == 401
    except httpx2.TransportError:
        return False
