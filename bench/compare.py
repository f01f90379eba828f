"""Snoozer, its floor, PgQueuer and Procrastinate in turn, on one database server and one mail server.

From the top of the checkout: `.venv/bin/python -m bench.compare --rows 10000 --rounds 3 --json figures.json`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import click
from rich.console import Console

from bench import environment, figures, mailserver
from bench.contestants.errand import payload, written
from bench.figures import Run
from bench.peer import Peer
from bench.peer import measure as measure_peer
from snoozer.bench import options
from snoozer.bench.ground import Ground, ground
from snoozer.bench.run import Load
from snoozer.bench.run import measure as measure_ours
from snoozer.bench.telling import bar, write
from snoozer.settings import SettingsError

OURS = ("snoozer", "floor")
QUEUES = ("pgqueuer", "procrastinate")
# The shape of the well-known harness: 32 side by side, 50 at once, 2 to 5 ms each.
SLEEPS = (2.0, 5.0)
SLEEP_PARALLEL, SLEEP_BATCH = 32, 50
# What was fastest for the others here: 32 connections a process, 200 jobs at once (Procrastinate always takes one).
SEND_PARALLEL, SEND_BATCH = 32, 200

# How a contestant is called by what its jobs do; by its own name where they send what was made beforehand, or sleep.
CALLED = {"compose": "{}, composing", "library": "{}, aiosmtplib"}

HOW = (
    "Medians; CPU of the workers, commits and WAL are of one job. Time runs from the first job's start, as each one's "
    "own tables tell it: start-up counts for nobody."
)
SMTP = (
    " Every job is one SMTP message. Snoozer writes its mail; the floor and the others send bytes that were made "
    "beforehand, except where it says “composing”: there the job writes the same mail as Snoozer. Where it says "
    "“aiosmtplib”, it also hands it over by that library instead of the client that we lend."
)
SLEEP = (
    " Not the same work: a job of the others sleeps 2 to 5 ms and sends nothing, while Snoozer and the floor hand a "
    "mail to a server that takes 2 to 5 ms over it."
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What is compared: with which load for Snoozer and the floor, with which other queues, in which words."""

    name: str
    load: Load
    peers: tuple[Peer, ...]
    caption: str
    ours: tuple[str, ...] = OURS


def scenes(*, rows: int, processes: int, concurrency: int, batch: int, compose: bool) -> dict[str, Scene]:
    """Both scenes: `smtp`, where a job is a mail, and `sleep`, where it is a pause."""

    def peer(queue: str, does: str, *, parallel: int, at_once: int) -> Peer:
        name = CALLED.get(does, "{}").format(queue)
        return Peer(name=name, queue=queue, does=does, parallel=parallel, batch=at_once)

    sending = ["send", "compose", "library"] if compose else ["send"]
    return {
        "smtp": Scene(
            name="smtp",
            load=Load(rows=rows, processes=processes, concurrency=concurrency, batch=batch),
            peers=tuple(
                peer(queue, does, parallel=SEND_PARALLEL, at_once=SEND_BATCH) for queue in QUEUES for does in sending
            ),
            caption=HOW + SMTP,
            ours=(*OURS, CALLED["compose"].format("floor")) if compose else OURS,
        ),
        "sleep": Scene(
            name="sleep",
            load=Load(rows=rows, processes=processes, concurrency=SLEEP_PARALLEL, batch=SLEEP_BATCH),
            peers=tuple(
                peer(queue, "sleep", parallel=max(1, SLEEP_PARALLEL // processes), at_once=SLEEP_BATCH)
                for queue in QUEUES
            ),
            caption=HOW + SLEEP,
        ),
    }


@click.command(name="compare")
@click.option("--rows", type=click.IntRange(100, 1_000_000), default=10_000, show_default=True, help="Due at once.")
@options.rounds()
@click.option("--processes", type=click.IntRange(1, 16), default=2, show_default=True, help="Worker processes of each.")
@options.concurrency(default=64, help="Snoozer's, with smtp.")
@options.batch(default=100, help="Snoozer's, with smtp.")
@click.option("--scene", "wanted", type=click.Choice(["smtp", "sleep"]), multiple=True, help="Only this one.")
@click.option(
    "--compose/--no-compose", default=True, show_default=True, help="The floor and the others also writing their mails."
)
@options.to_json
def command(
    rows: int,
    rounds: int,
    processes: int,
    concurrency: int,
    batch: int,
    wanted: tuple[str, ...],
    compose: bool,
    to_json: Path | None,
) -> None:
    """Compare Snoozer with PgQueuer and Procrastinate on this machine.

    The others are installed into bench/.venv by the versions of bench/requirements.txt. Figures of different machines
    cannot be compared; the ratios can.
    """
    options.check_concurrency(concurrency, processes=processes)
    console = Console()
    both = scenes(rows=rows, processes=processes, concurrency=concurrency, batch=batch, compose=compose)
    told: dict[str, object] = {}
    try:
        console.print("Installing the other queues into bench/.venv, unless they are there")
        python = environment.python()
        for name in wanted or tuple(both):
            runs, server = _measured(both[name], rounds=rounds, python=python, console=console)
            title = f"{name}: {rows:,} jobs, {processes} processes each, {rounds} rounds, mail server: {server}"
            console.print(figures.table(runs, title=title, caption=both[name].caption))
            told[name] = figures.report(runs) | {"load": asdict(both[name].load), "mail_server": server}
    except (SettingsError, environment.EnvironmentRefused, mailserver.MailServerRefused) as refused:
        raise click.ClickException(str(refused)) from None
    versions = {queue: environment.pins()[queue] for queue in QUEUES}
    write("compare", {"versions": versions} | told, to=to_json)


def _measured(scene: Scene, *, rounds: int, python: Path, console: Console) -> tuple[list[Run], str]:
    runs: list[Run] = []
    with bar(console) as begin, _place(scene) as (here, server):
        message = here.home / "message.eml"
        message.write_bytes(written(payload(1)))
        contestants: Sequence[str | Peer] = [*scene.ours, *scene.peers]
        for number in range(1, rounds + 1):
            # Each round begins with another one, so that nobody always has the same neighbour.
            turn = (number - 1) % len(contestants)
            for contestant in [*contestants[turn:], *contestants[:turn]]:
                who = contestant if isinstance(contestant, str) else contestant.name
                progress = begin(f"{scene.name}, round {number} of {rounds}: {who}", scene.load.rows)
                before = server.taken()
                if isinstance(contestant, str):
                    run = ours(contestant, here, scene.load, number=number, progress=progress)
                else:
                    run = measure_peer(
                        contestant,
                        here,
                        scene.load,
                        number=number,
                        python=python,
                        message=message,
                        sleeps=SLEEPS,
                        progress=progress,
                    )
                runs.append(_counted(run, server, before=before))
    order = [contestant if isinstance(contestant, str) else contestant.name for contestant in contestants]
    return sorted(runs, key=lambda run: (run.round, order.index(run.who))), server.name


def _counted(run: Run, server: mailserver.MailServer, *, before: int | None) -> Run:
    after = server.taken()
    if before is None or after is None:
        return run
    return replace(run, mails=after - before, duplicates=max(run.duplicates, after - before - run.rows))


def ours(who: str, here: Ground, load: Load, *, number: int, progress: Callable[[int], None]) -> Run:
    """One run of Snoozer or of the floor, in the measures of the comparison."""
    told = asdict(measure_ours(who, here, load, progress=progress))
    asked = {field.name for field in fields(Run)}
    return Run(**{name: value for name, value in told.items() if name in asked}, round=number, mails=None)


@contextmanager
def _place(scene: Scene) -> Iterator[tuple[Ground, mailserver.MailServer]]:
    """Where a scene is played: with a mail server that takes its time for `sleep`, with the fastest for `smtp`."""
    if scene.name == "sleep":
        with ground(work=SLEEPS) as here:
            yield here, mailserver.MailServer(port=here.smtp_port, name="the bench's own sink, 2 to 5 ms")
        return
    with ground(work=(0, 0)) as here, mailserver.fastest() as server:
        yield replace(here, smtp_port=server.port), server


if __name__ == "__main__":
    command()
