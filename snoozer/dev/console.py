"""The output of `snoozer up`: one line at a time, each after the name of the process that wrote it.

A terminal that takes no more text (Ctrl-S, a closed reader) must block neither a worker nor a Ctrl-C, so a thread of
its own writes, and lines that find no room in its queue are counted and left out.
"""

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status
from rich.text import Text

ITSELF = "snoozer"
_STYLES = {
    ITSELF: "bold cyan",
    "postgres": "blue",
    "web": "green",
    "worker": "magenta",
    "clock": "yellow",
    "inbound": "bright_blue",
    "mailbox": "cyan",
    "dovecot": "blue",
    "sink": "bright_magenta",
}
_WIDTH = max(map(len, _STYLES))


class Output:
    """Lines for a person: coloured on a terminal, plain in a file or with NO_COLOR. No method blocks but `close`."""

    def __init__(self, console: Console | None = None) -> None:
        if console is None:
            if hasattr(sys.stdout, "reconfigure"):
                sys.stdout.reconfigure(errors="replace")
            console = Console(highlight=False, soft_wrap=True)
        self._console = console
        self._bar = "│" if console.encoding.lower().startswith("utf") else "|"
        self._left_out = 0
        self._status: Status | None = None
        self._queue: queue.Queue[Callable[[], None]] = queue.Queue(maxsize=5_000)
        threading.Thread(target=self._write, name="console", daemon=True).start()

    def line(self, line: str, *, by: str = ITSELF, style: str = "") -> None:
        """Write a line after the name of the process it comes from."""
        text = Text.assemble((by.ljust(_WIDTH), _STYLES.get(by, "")), (f" {self._bar} ", "dim"), (_clean(line), style))
        self._put(lambda: self._console.print(text))

    def warn(self, line: str, *, by: str = ITSELF) -> None:
        """Write a line about a failure."""
        self.line(line, by=by, style="bold yellow")

    def plain(self, line: str, *, style: str = "") -> None:
        """Write a line with nothing before it, so that it can be copied whole."""
        self._put(lambda: self._console.print(Text(_clean(line), style=style)))

    @contextmanager
    def working(self, on: str) -> Iterator[None]:
        """Show that something takes a while: by a spinner on a terminal, by one line elsewhere."""
        if self._console.is_terminal:
            self._put(lambda: self._start_spinner(on))
        else:
            self.line(f"{on} …")
        try:
            yield
        finally:
            self._put(self._stop_spinner)

    def close(self) -> None:
        """Write queued lines, for two seconds at most."""
        finished = threading.Event()
        self._put(finished.set)
        finished.wait(timeout=2)

    def _put(self, action: Callable[[], None]) -> None:
        try:
            self._queue.put_nowait(action)
        except queue.Full:
            self._left_out += 1

    def _write(self) -> None:
        while True:
            action = self._queue.get()
            try:
                if self._left_out and self._queue.empty():
                    left_out, self._left_out = self._left_out, 0
                    self._console.print(Text(f"({left_out} lines were left out: nothing could be written)", "dim"))
                action()
            except (OSError, ValueError):
                # The terminal or the reader has gone; the processes run on.
                continue

    def _start_spinner(self, on: str) -> None:
        self._stop_spinner()
        self._status = self._console.status(Text(on))
        self._status.start()

    def _stop_spinner(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _clean(line: str) -> str:
    """The line without control characters, which could move the cursor or recolour the terminal."""
    return "".join(sign if sign.isprintable() or sign == "\t" else "\N{REPLACEMENT CHARACTER}" for sign in line)
