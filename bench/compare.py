"""`bench compare`: Snoozer, its baseline, PgQueuer and Procrastinate in turn, on one database and one mail server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import click
from rich.console import Console

from bench import drain, figures, options
from bench.drain import Load
from bench.environment import Environment, scratch_environment
from bench.figures import Run
from bench.mail_server import MailServer, fastest_mail_server
from bench.peers import venv
from bench.peers.job import composed, payload
from bench.peers.measure import Peer, PeerRun, measure_peer
from bench.report import Progress, progress_bar, write_json

OURS = ("snoozer", "baseline")
QUEUES = ("pgqueuer", "procrastinate")
# The shape of the well-known harness: 32 side by side, 50 at once, 2 to 5 ms each.
SLEEPS = (2.0, 5.0)
SLEEP_PARALLEL, SLEEP_BATCH = 32, 50
# What was fastest for the peers here: 32 connections a process, 200 jobs at once (Procrastinate always takes one).
SEND_PARALLEL, SEND_BATCH = 32, 200

# The label of a contestant by what its jobs do; its own name where they send canned mails, or sleep.
LABELS = {"compose": "{}, composing", "library": "{}, aiosmtplib"}

HOW = (
    "Medians; CPU of the workers, commits and WAL are of one job. Time runs from the first job's start, by each one's "
    "own tables: start-up does not count."
)
SMTP = (
    " Every job is one SMTP message. Snoozer writes its mail; the baseline and the others send bytes that were made "
    "beforehand, except where it says “composing”: there the job writes the same mail as Snoozer. Where it says "
    "“aiosmtplib”, it also hands it over by that library instead of the client that we lend."
)
SLEEP = (
    " Not the same work: a job of the others sleeps 2 to 5 ms and sends nothing, while Snoozer and the baseline hand a "
    "mail to a server that takes 2 to 5 ms over it."
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What is compared: the load of Snoozer and its baseline, the other queues, and the caption of the table."""

    name: str
    load: Load
    peers: tuple[Peer, ...]
    caption: str
    ours: tuple[str, ...] = OURS


def scenes(*, rows: int, processes: int, concurrency: int, batch: int, compose: bool) -> dict[str, Scene]:
    """Both scenes: `smtp`, where a job is a mail, and `sleep`, where it is a pause."""

    def peer(queue: str, does: str, *, parallel: int, batch: int) -> Peer:
        name = LABELS.get(does, "{}").format(queue)
        return Peer(name=name, queue=queue, does=does, parallel=parallel, batch=batch)

    sending = ["send", "compose", "library"] if compose else ["send"]
    return {
        "smtp": Scene(
            name="smtp",
            load=Load(rows=rows, processes=processes, concurrency=concurrency, batch=batch),
            peers=tuple(
                peer(queue, does, parallel=SEND_PARALLEL, batch=SEND_BATCH) for queue in QUEUES for does in sending
            ),
            caption=HOW + SMTP,
            ours=(*OURS, LABELS["compose"].format("baseline")) if compose else OURS,
        ),
        "sleep": Scene(
            name="sleep",
            load=Load(rows=rows, processes=processes, concurrency=SLEEP_PARALLEL, batch=SLEEP_BATCH),
            peers=tuple(
                peer(queue, "sleep", parallel=max(1, SLEEP_PARALLEL // processes), batch=SLEEP_BATCH)
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
@click.option("--scene", "names", type=click.Choice(["smtp", "sleep"]), multiple=True, help="Only this one.")
@click.option(
    "--compose/--no-compose",
    default=True,
    show_default=True,
    help="Baseline and others also writing their mails.",
)
@options.to_json
def command(
    rows: int,
    rounds: int,
    processes: int,
    concurrency: int,
    batch: int,
    names: tuple[str, ...],
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
    report: dict[str, object] = {"versions": {queue: venv.pins()[queue] for queue in QUEUES}}
    console.print("Installing the other queues into bench/.venv, unless they are there")
    python = venv.python()
    for name in names or tuple(both):
        runs, server = _run_scene(both[name], rounds=rounds, python=python, console=console)
        title = f"{name}: {rows:,} jobs, {processes} processes each, {rounds} rounds, mail server: {server}"
        console.print(figures.table(runs, title=title, caption=both[name].caption))
        report[name] = figures.report(runs) | {"load": asdict(both[name].load), "mail_server": server}
    write_json("compare", report, to=to_json)


def _run_scene(scene: Scene, *, rounds: int, python: Path, console: Console) -> tuple[list[Run], str]:
    """Every contestant in every round; the name of the mail server."""
    runs: list[Run] = []
    load = scene.load
    contestants: Sequence[str | Peer] = [*scene.ours, *scene.peers]
    with progress_bar(console) as start_stage, _environment(scene) as (environment, server):
        message = environment.home / "message.eml"
        message.write_bytes(composed(payload(1)))
        for number in range(1, rounds + 1):
            # Each round begins with another one, so that no contestant always follows the same one.
            turn = (number - 1) % len(contestants)
            for contestant in [*contestants[turn:], *contestants[:turn]]:
                progress = start_stage(f"{scene.name}, round {number} of {rounds}: {_name(contestant)}", load.rows)
                before = server.accepted()
                if isinstance(contestant, str):
                    run = measure_ours(contestant, environment, load, number=number, progress=progress)
                else:
                    how = PeerRun(number=number, python=python, message=message, sleeps=SLEEPS)
                    run = measure_peer(contestant, environment, load, how, progress=progress)
                runs.append(_with_mails(run, server, before=before))
    order = [_name(contestant) for contestant in contestants]
    return sorted(runs, key=lambda run: (run.round, order.index(run.who))), server.name


def _name(contestant: str | Peer) -> str:
    return contestant if isinstance(contestant, str) else contestant.name


def _with_mails(run: Run, server: MailServer, *, before: int | None) -> Run:
    after = server.accepted()
    if before is None or after is None:
        return run
    return replace(run, mails=after - before, duplicates=max(run.duplicates, after - before - run.rows))


def measure_ours(who: str, environment: Environment, load: Load, *, number: int, progress: Progress) -> Run:
    """One run of Snoozer or of its baseline, in the measures of the comparison."""
    result = asdict(drain.measure(who, environment, load, progress=progress))
    names = {field.name for field in fields(Run)}
    return Run(**{name: value for name, value in result.items() if name in names}, round=number, mails=None)


@contextmanager
def _environment(scene: Scene) -> Iterator[tuple[Environment, MailServer]]:
    """With a mail server that takes its time for `sleep`, with the fastest for `smtp`."""
    if scene.name == "sleep":
        with scratch_environment(work=SLEEPS) as environment:
            yield environment, MailServer(port=environment.smtp_port, name="the bench's own sink, 2 to 5 ms")
        return
    with scratch_environment(work=(0, 0)) as environment, fastest_mail_server() as server:
        yield replace(environment, smtp_port=server.port), server
