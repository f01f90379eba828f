"""Where a run takes place: a scratch database, gone afterwards, and a mail server that accepts every mail."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from bench import mails
from bench.mail_server import bench_mail_server
from bench.report import BenchError
from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.dev.binaries import NoPostgres
from snoozer.dev.postgres import CONNECTIONS, Postgres, PostgresRefused
from snoozer.dev.processes import database_reaper

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A migrated, empty database, its server's process and log, the port of the mail server, and the checkout whose
    workers run."""

    engine: Engine
    url: str
    server_pid: int
    server_log: Path
    smtp_port: int
    home: Path
    checkout: Path = ROOT

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of a worker of the checkout; none of the caller's settings is passed on."""
        return {
            "PATH": os.defpath,
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(self.checkout),
            "DATABASE_URL": self.url,
            "SECRET_KEY": mails.SECRET,
            "SMTP_URL": f"smtp://127.0.0.1:{self.smtp_port}",
            "MAIL_FROM": mails.MAIL_FROM,
            "BASE_URL": mails.BASE_URL,
            "SNOOZER_HOME": str(self.home),
        }


@contextmanager
def scratch_environment(*, work: tuple[float, float], connections: int = CONNECTIONS) -> Iterator[Environment]:
    """All that one run needs, also gone if the run is killed. Raises BenchError when the database server cannot be
    started.

    `work` is how many milliseconds the mail server takes over a mail, at least and at most; `connections` is the
    database server's max_connections.
    """
    home = Path(tempfile.mkdtemp(prefix="snoozer-bench-"))
    home.chmod(0o755)
    with database_reaper() as register:
        server = Postgres(home, wanted=None, shared=home / "shared", on_launch=register, connections=connections)
        try:
            url = server.start()
            with bench_mail_server(work) as port:
                engine = make_engine(url.replace("postgresql://", "postgresql+psycopg://"), name="bench", pool_size=4)
                schema.upgrade(engine)
                try:
                    yield Environment(
                        engine=engine, url=url, server_pid=server.pid, server_log=server.log, smtp_port=port, home=home
                    )
                finally:
                    engine.dispose()
        except (PostgresRefused, NoPostgres) as error:
            raise BenchError(str(error)) from None
        finally:
            server.stop()
            shutil.rmtree(home, ignore_errors=True)
