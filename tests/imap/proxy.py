"""Between a client and a real server: commands refused, replies changed, the line cut at a step."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Self

# What becomes of a command: None lets it pass, bytes are the reply (with the tag put in for {tag}).
OnCommand = Callable[[bytes], bytes | None]
OnReply = Callable[[bytes], bytes | None]


class Proxy:
    """Line by line. `on_reply` returns what the client gets, or None to cut the line."""

    def __init__(
        self,
        port: int,
        *,
        on_command: OnCommand = lambda command: None,
        on_reply: OnReply = lambda line: line,
    ) -> None:
        self.commands: list[bytes] = []
        self._target = port
        self._on_command = on_command
        self._on_reply = on_reply
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        self._start(self._listen)
        return self

    def __exit__(self, *_: object) -> None:
        for each in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(timeout=5)

    def cut(self) -> None:
        """Every connection breaks; new ones are accepted."""
        for each in self._sockets:
            _end(each)

    def _start(self, run: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [client, server]
            self._start(self._pass_commands, client, server)
            self._start(self._pass_replies, server, client)

    def _pass_commands(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client.makefile("rb") as lines:
            for line in lines:
                self.commands.append(line)
                reply = self._on_command(line)
                if reply is None:
                    server.sendall(line)
                else:
                    client.sendall(reply.replace(b"{tag}", line.split(b" ", 1)[0]))
        _end(server)

    def _pass_replies(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), server.makefile("rb") as lines:
            for line in lines:
                passed = self._on_reply(line)
                if passed is None:
                    break
                client.sendall(passed)
        _end(client)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
