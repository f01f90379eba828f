"""How to start a module of this installation, and where its files are that are not Python.

They are at the top of a checkout, and inside the package of an installed wheel.
"""

import sys
from pathlib import Path

# -u: output is not buffered. -P: modules of the working directory, such as a `click.py`, do not shadow others.
PYTHON_MODULE = (sys.executable, "-u", "-P", "-m")

_PACKAGE = Path(__file__).resolve().parent


def resource_folder(name: str) -> Path:
    """The folder `templates`, `static` or `migrations` of this installation."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
