"""What this copy of Snoozer carries: its programs, and the files that are not Python.

Those lie at the top of a checkout, inside the package of an installed wheel.
"""

import sys
from pathlib import Path

# What starts one of its modules. -u: what it says is heard at once. -P: a folder that happens to hold a `click.py`, or
# a checkout named `snoozer`, must not become part of Snoozer.
PYTHON_MODULE = (sys.executable, "-u", "-P", "-m")

_PACKAGE = Path(__file__).resolve().parent


def resource_folder(name: str) -> Path:
    """The folder `templates`, `static` or `migrations`, wherever this copy of Snoozer carries it."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
