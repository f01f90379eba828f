"""How to start a module of this installation, and where its files are that are not Python.

They are at the top of a checkout, and inside the package of an installed wheel.
"""

import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

# Starts a module of this copy. -u: output is not buffered. -P: a working folder that happens to hold a `click.py` or a
# folder `snoozer` must not become part of Snoozer. Only in its own checkout, which need not be installed, Python
# imports it from the working folder.
PYTHON_MODULE = (sys.executable, "-u", *(() if Path.cwd() == _PACKAGE.parent else ("-P",)), "-m")


def resource_folder(name: str) -> Path:
    """The folder `templates`, `static`, `locale`, `migrations` or `docs` of this installation."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
