"""What `snoozer up` says: one line at a time, each after the name of who speaks.

A terminal that takes no more text (Ctrl-S, a reader that has gone) must hold up neither a worker nor a Ctrl-C, so a
thread of its own does the writing and lines that find no room are counted and left out.
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
    "sink": "bright_magenta",
}
_WIDTH = max(map(len, _STYLES))
_WAITING_LINES = 5_000
_FLUSH_SECONDS = 2.0


class Voice:
    """Lines for a person: coloured on a terminal, plain in a file or with NO_COLOR. Saying something never blocks."""

    def __init__(self, console: Console | None = None) -> None:
        if console is None:
            if hasattr(sys.stdout, "reconfigure"):
                sys.stdout.reconfigure(errors="replace")
            console = Console(highlight=False, soft_wrap=True)
        self._console = console
        self._bar = "│" if console.encoding.lower().startswith("utf") else "|"
        self._left_out = 0
        self._status: Status | None = None
        self._waiting: queue.Queue[Callable[[], None]] = queue.Queue(maxsize=_WAITING_LINES)
        self._writer = threading.Thread(target=self._write, name="voice", daemon=True)
        self._writer.start()

    @property
    def is_terminal(self) -> bool:
        return self._console.is_terminal

    def say(self, line: str, *, by: str = ITSELF, style: str = "") -> None:
        """One line after the speaker's name."""
        text = Text.assemble((by.ljust(_WIDTH), _STYLES.get(by, "")), (f" {self._bar} ", "dim"), (_clean(line), style))
        self._put(lambda: self._console.print(text))

    def warn(self, line: str, *, by: str = ITSELF) -> None:
        """One line about something that is not as it should be."""
        self.say(line, by=by, style="bold yellow")

    def alone(self, line: str, *, style: str = "") -> None:
        """One line with nothing before it, so that it can be copied whole."""
        self._put(lambda: self._console.print(Text(_clean(line), style=style)))

    @contextmanager
    def working(self, on: str) -> Iterator[None]:
        """Shows that something takes a while: a spinner on a terminal, one line elsewhere."""
        if not self.is_terminal:
            self.say(f"{on} …")
            yield
            return
        self._put(lambda: self._spin(on))
        try:
            yield
        finally:
            self._put(self._rest)

    def close(self) -> None:
        """Write what is waiting, for two seconds at most."""
        finished = threading.Event()
        self._put(finished.set)
        finished.wait(_FLUSH_SECONDS)

    def _put(self, act: Callable[[], None]) -> None:
        try:
            self._waiting.put_nowait(act)
        except queue.Full:
            self._left_out += 1

    def _write(self) -> None:
        while True:
            act = self._waiting.get()
            try:
                if self._left_out and self._waiting.empty():
                    left_out, self._left_out = self._left_out, 0
                    self._console.print(Text(f"({left_out} lines were left out: nothing could be written)", "dim"))
                act()
            except (OSError, ValueError):
                # The terminal or the reader has gone. What runs goes on without being heard.
                continue

    def _spin(self, on: str) -> None:
        self._rest()
        self._status = self._console.status(Text(on))
        self._status.start()

    def _rest(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _clean(line: str) -> str:
    """What a child writes must not move the cursor or colour the rest of the terminal."""
    return "".join(sign if sign.isprintable() or sign == "\t" else "\N{REPLACEMENT CHARACTER}" for sign in line)
