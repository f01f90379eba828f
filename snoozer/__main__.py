"""ENTRANCE: `python -m snoozer COMMAND`."""

import gc

# Imports leave nothing to collect, and looking for it took a fifth of a start. Enabled when the command is imported.
gc.disable()

from snoozer.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
