"""Where a benchmark runs: a database of its own that is gone afterwards, a mail server that takes everything."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from snoozer.bench import mails
from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.dev.postgres import CONNECTIONS, Postgres
from snoozer.resources import PYTHON_MODULE


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A migrated, empty database, its server's process and log, and the port of the mail server."""

    engine: Engine
    url: str
    server_pid: int
    server_log: Path
    smtp_port: int
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a worker needs to run here; no setting of the caller may lead it elsewhere."""
        return {
            "PATH": os.defpath,
            "LC_ALL": "C.UTF-8",
            "DATABASE_URL": self.url,
            "SECRET_KEY": mails.SECRET,
            "SMTP_URL": f"smtp://127.0.0.1:{self.smtp_port}",
            "MAIL_FROM": mails.MAIL_FROM,
            "BASE_URL": mails.BASE_URL,
            "SNOOZER_HOME": str(self.home),
        }


@contextmanager
def ground(*, work: tuple[float, float], connections: int = CONNECTIONS) -> Iterator[Ground]:
    """Everything up for one benchmark. `work` is how long the mail server takes over a message, in milliseconds;
    `connections` are what the database takes at once."""
    home = Path(tempfile.mkdtemp(prefix="snoozer-bench-"))
    home.chmod(0o755)
    server = Postgres(home, wanted=None, shared=home / "shared", connections=connections)
    try:
        url = server.start()
        with mail_server(work) as port:
            engine = make_engine(url.replace("postgresql://", "postgresql+psycopg://"), name="bench", pool_size=4)
            schema.upgrade(engine)
            try:
                yield Ground(
                    engine=engine, url=url, server_pid=server.pid, server_log=server.log, smtp_port=port, home=home
                )
            finally:
                engine.dispose()
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def mail_server(work: tuple[float, float]) -> Iterator[int]:
    """A process of its own, so that it does not share an interpreter with what is measured; its port."""
    command = [*PYTHON_MODULE, "snoozer.bench.sink", *map(str, work)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield int(server.stdout.readline() if server.stdout else 0)
        finally:
            server.terminate()
