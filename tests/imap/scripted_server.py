"""An IMAP server that says what real ones seldom say, over a real socket.

A script names the reply to a command by its name; `{tag}` stands for the command's tag. What is not named gets the
usual reply. `push` sends at any time.
"""

import contextlib
import queue
import socket
import threading
from collections.abc import Mapping
from typing import Self

from snoozer.mailboxes import imap
from snoozer.mailboxes.imap import Connection, Login, Server
from tests.imap.mailboxes import connect

EOF = "<eof>"
GREETING = "greeting"

USUAL = {
    GREETING: "* OK ready\r\n",
    "CAPABILITY": "* CAPABILITY IMAP4rev1 IDLE UIDPLUS MOVE\r\n{tag} OK done\r\n",
    "LOGIN": "{tag} OK welcome\r\n",
    "SELECT": "* 3 EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n* OK [UIDNEXT 4] next\r\n{tag} OK [READ-WRITE] done\r\n",
    "STATUS": '* STATUS "Snoozed" (MESSAGES 0 UIDNEXT 1 UIDVALIDITY 8)\r\n{tag} OK done\r\n',
    "UID FETCH": "{tag} OK done\r\n",
    "UID SEARCH": "* SEARCH\r\n{tag} OK done\r\n",
    "NOOP": "{tag} OK done\r\n",
    "IDLE": "+ idling\r\n",
    "DONE": "{idle} OK done\r\n",
}

# For a check, which makes folders.
WITH_FOLDERS = {
    "CAPABILITY": "* CAPABILITY IMAP4rev1 IDLE UIDPLUS MOVE NAMESPACE\r\n{tag} OK done\r\n",
    "NAMESPACE": '* NAMESPACE (("" "/")) NIL NIL\r\n{tag} OK done\r\n',
    "LIST": '* LIST () "/" INBOX\r\n{tag} OK done\r\n',
    "CREATE": "{tag} OK done\r\n",
    "SUBSCRIBE": "{tag} OK done\r\n",
}


class ScriptedImap:
    """Listens on loopback from `with` to its end, for one connection at a time."""

    def __init__(self, script: Mapping[str, str] | None = None) -> None:
        self.commands: list[str] = []
        self.seen: queue.Queue[str] = queue.Queue()
        self._script = {**USUAL, **(script or {})}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connection: socket.socket | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self.port: int = self._listener.getsockname()[1]

    def open(self, *, timeout: float = 20.0) -> Connection:
        """A client of it, logged in."""
        server, login = Server("localhost", self.port, "plain"), Login("ann", "wordpass")
        return imap.open(server, login, connect=connect, timeout=timeout)

    def push(self, text: str) -> None:
        assert self._connection is not None
        self._connection.sendall(text.encode())

    def hang_up(self) -> None:
        assert self._connection is not None
        self._connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, self._connection):
            if each is not None:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
        self._thread.join(timeout=5)

    def _listen(self) -> None:
        while True:
            try:
                self._connection, _ = self._listener.accept()
            except OSError:
                return
            with self._connection, contextlib.suppress(OSError):
                self._serve(self._connection)

    def _serve(self, client: socket.socket) -> None:
        self._answer(client, GREETING, {})
        tags = {"tag": "", "idle": ""}
        with client.makefile("rb") as lines:
            for line in lines:
                text = line.decode().rstrip("\r\n")
                name = _name_of(text)
                tags["tag"] = text.split(" ")[0]
                if name == "IDLE":
                    tags["idle"] = tags["tag"]
                self.commands.append(text)
                self._answer(client, name, tags)
                self.seen.put(name)

    def _answer(self, client: socket.socket, name: str, tags: Mapping[str, str]) -> None:
        reply = self._script.get(name, "{tag} BAD what is that\r\n")
        for key, tag in tags.items():
            reply = reply.replace("{" + key + "}", tag)
        client.sendall(reply.removesuffix(EOF).encode())
        if reply.endswith(EOF):
            client.shutdown(socket.SHUT_RDWR)


def _name_of(command: str) -> str:
    words = command.upper().split(" ")
    if words[0] == "DONE":
        return "DONE"
    return " ".join(words[1:3]) if words[1] == "UID" else words[1]
