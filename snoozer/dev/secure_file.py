"""Files that only their owner may read, written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file with mode 0600. A reader sees the old text or the new one, a crash leaves one of them."""
    # mkstemp makes its file 0600 from the first moment on.
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
