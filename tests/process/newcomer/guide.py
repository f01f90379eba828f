"""The commands that the documentation prints for each way to install Snoozer, read from it."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.process.conftest import ROOT

MOST_COMMANDS = 5
BLOCK = re.compile(r"^```\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Way:
    """A way to install: the first block of commands after these words of a page, which ends its heading."""

    name: str
    page: Path
    after: str

    def block(self) -> str:
        _, found, rest = self.page.read_text(encoding="utf-8").partition(self.after)
        block = BLOCK.search(rest)
        assert found and block, f"{self.page} has no commands after {self.after}"
        return block[1]

    def commands(self) -> list[str]:
        """Each command, also if several share a line."""
        lines = self.block().replace("\\\n", " ").splitlines()
        return [" ".join(command.split()) for line in lines for command in re.split(r"&&|;", line)]


WAYS = {
    way.name: way
    for way in (
        Way("wheel", ROOT / "README.md", "The same from the package"),
        Way("image", ROOT / "deploy" / "README.md", "**A home server, one container.**"),
        Way("compose", ROOT / "deploy" / "README.md", "**Compose, a process each.**"),
        Way("units", ROOT / "deploy" / "README.md", "**systemd.**"),
    )
}
