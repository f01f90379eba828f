"""Where the files that are not Python lie: at the top of a checkout, inside the package of an installed wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder `templates`, `static` or `migrations`, wherever this copy of Snoozer carries it."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
