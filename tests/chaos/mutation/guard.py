"""What a guard of the protocol is."""

from dataclasses import dataclass
from pathlib import Path

from snoozer.db import statements


@dataclass(frozen=True)
class Guard:
    """`old` stands once in `place`, a file or a statement; with `new` instead of it, `test` must turn red."""

    name: str
    place: str
    old: str
    new: str
    test: str

    def file(self, tree: Path) -> Path:
        """The file that holds it, in this copy of the code."""
        source = statements.sources().get(self.place)
        return tree / (f"snoozer/db/{source.path}" if source else self.place)

    def part(self, tree: Path) -> str:
        """The text in which `old` must stand once: that of the statement, or of the file."""
        source = statements.sources().get(self.place)
        return source.text if source else self.file(tree).read_text()

    def remove(self, tree: Path) -> None:
        """Replace the guard in this copy of the code."""
        file, part = self.file(tree), self.part(tree)
        file.write_text(file.read_text().replace(part, part.replace(self.old, self.new)))
