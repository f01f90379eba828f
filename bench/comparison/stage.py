"""The resources that all contestants of a run share: a database server, a mail server, the peers' interpreter."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.environment import Environment, scratch_environment
from bench.mail_server import MailServer, bench_mail_server, fastest_mail_server
from bench.peers.job import composed, payload


@dataclass(frozen=True, kw_only=True)
class Stage:
    """`processes` is how many workers each contestant has, `python` the interpreter of the peers, `message` the canned
    mail, `accepted` the mail server's journal if it keeps one."""

    environment: Environment
    mail_server: MailServer
    processes: int
    python: Path
    message: bytes
    accepted: Path


@contextmanager
def fast_stage(*, processes: int, python: Path) -> Iterator[Stage]:
    """With the fastest mail server, which keeps no journal. Raises BenchError."""
    with fastest_mail_server() as server, _stage(server, processes=processes, python=python) as stage:
        yield stage


@contextmanager
def journal_stage(*, processes: int, python: Path) -> Iterator[Stage]:
    """With a mail server that writes down what it accepted and when. Raises BenchError."""
    with tempfile.TemporaryDirectory(prefix="snoozer-bench-") as folder:
        accepted = Path(folder) / "accepted"
        with bench_mail_server((0, 0), journal=accepted) as port:
            server = MailServer(port=port, name="the bench's own sink")
            with _stage(server, processes=processes, python=python, accepted=accepted) as stage:
                yield stage


@contextmanager
def _stage(server: MailServer, *, processes: int, python: Path, accepted: Path = Path()) -> Iterator[Stage]:
    with scratch_environment(work=(0, 0)) as environment:
        yield Stage(
            environment=replace(environment, smtp_port=server.port),
            mail_server=server,
            processes=processes,
            python=python,
            message=composed(payload(1)),
            accepted=accepted,
        )
