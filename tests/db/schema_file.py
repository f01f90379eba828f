"""docs/schema.sql: the tables that the migrations make, as pg_dump writes them. `make schema` runs this."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from sqlalchemy import Engine

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.dev import binaries
from snoozer.dev.postgres import Postgres

FILE = Path(__file__).resolve().parents[2] / "docs" / "schema.sql"
# Of each session that restores a dump, and of pg_dump's version: no part of the schema.
_NO_SCHEMA = re.compile(r"^(--|SET |SELECT pg_catalog\.set_config|\\(un)?restrict )")
# The begin of an entry of a dump, with its kind.
_ENTRY = re.compile(r"^--\n-- Name: .*; Type: ([A-Z ]+); .*\n--\n", re.MULTILINE)
_DEFINITIONS = {"FUNCTION", "TRIGGER", "VIEW"}
_HEAD = """-- By `make schema`: the tables after migration {revision}, as pg_dump of PostgreSQL {version} writes them.
-- Functions, triggers and views are in snoozer/db/sql/functions and snoozer/db/sql/views.
"""


def pg_dump() -> Path:
    """The program, which need not exist."""
    wanted = os.environ.get("SNOOZER_PG_BIN")
    return binaries.find(wanted=Path(wanted) if wanted else None).folder / "pg_dump"


def dumped(engine: Engine, *, tables_only: bool = False) -> str:
    """The schema of a database, without the archive's months and the number of its migration. With `tables_only`,
    without functions, triggers and views."""
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    what = ["--schema-only", "--no-owner", "--no-privileges", "--exclude-table=alembic_version"]
    dump = subprocess.run(
        [pg_dump(), *what, "--exclude-table=*_archive_[0-9]*", url], capture_output=True, text=True, check=True
    )
    _, *entries = _ENTRY.split(dump.stdout)
    wanted = (
        text
        for kind, text in zip(entries[::2], entries[1::2], strict=True)
        if not (tables_only and kind in _DEFINITIONS)
    )
    lines = [line for line in "".join(wanted).splitlines() if not _NO_SCHEMA.match(line)]
    return re.sub(r"\n{2,}", "\n\n", "\n".join(lines)).replace("public.", "").strip() + "\n"


def written(engine: Engine) -> str:
    """The text of the file, from a migrated database."""
    with engine.connect() as connection:
        revision, _ = schema.versions(connection)
    version = subprocess.run([pg_dump(), "--version"], capture_output=True, text=True, check=True).stdout
    [major] = re.findall(r"\) (\d+)", version)
    return f"{_HEAD.format(revision=revision, version=major)}\n{dumped(engine, tables_only=True)}"


def main() -> None:
    """Write the file, by a server of its own."""
    home = Path(tempfile.mkdtemp(prefix="snoozer-schema-"))
    home.chmod(0o755)
    wanted = os.environ.get("SNOOZER_PG_BIN")
    server = Postgres(home, wanted=Path(wanted) if wanted else None, shared=home / "shared")
    try:
        engine = make_engine(server.start().replace("postgresql://", "postgresql+psycopg://"), name="schema")
        schema.upgrade(engine)
        FILE.write_text(written(engine))
        engine.dispose()
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
