"""`snoozer bench idle`: what workers with nothing to do cost the database, the machine and each other."""

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from snoozer.bench import filling, floor, options
from snoozer.bench.crew import crew
from snoozer.bench.ground import Ground, ground
from snoozer.bench.processes import cpu_seconds, family_cpu_seconds, resident_bytes
from snoozer.bench.run import counters, let_pass, settle
from snoozer.bench.telling import Bar, bar, table, write
from snoozer.db.engine import autocommit
from snoozer.db.statements import execute

WANTED_SHARE = 5.0
WANTED_WORKER_SHARE = 1.0
WANTED_QUERIES = 2.0
CONNECTIONS_A_WORKER = 4
SETTLE_SECONDS = 6.0
LOOK_SECONDS = 0.5
AROUND = frozenset({"BEGIN", "COMMIT", "ROLLBACK", "PING"})
_ENTRY = re.compile(r"\n(?=\d{4}-\d\d-\d\d )")
_ASKED = re.compile(r"LOG: +(?:statement|execute [^:]*): ?")


@dataclass(frozen=True, kw_only=True)
class Idleness:
    """What so many idle workers took while nothing was due. Shares are per cent of one core."""

    workers: int
    server_share: float
    server_share_without: float
    worker_share: float
    transactions: float
    statements: dict[str, float]
    connections: float
    worker_bytes: float

    @property
    def queries(self) -> float:
        """Statements a second and worker, those left out that only begin and end transactions or see who is there."""
        return sum(rate for verb, rate in self.statements.items() if verb not in AROUND)


@click.command(name="idle", short_help="What workers with nothing to do cost the database.")
@click.option("--workers", type=click.IntRange(1, 500), default=64, show_default=True, help="Worker processes.")
@click.option("--seconds", type=click.IntRange(1), default=30, show_default=True, help="How long they are watched.")
@click.option("--future", type=click.IntRange(0), default=100_000, show_default=True, help="Rows that are asleep.")
@options.to_json
def command(workers: int, seconds: int, future: int, to_json: Path | None) -> None:
    """Watch WORKERS idle worker processes; each of them needs about 90 MB of memory."""
    console = Console()
    with bar(console) as begin, ground(work=(0, 0), connections=CONNECTIONS_A_WORKER * workers + 20) as here:
        idleness = measure(here, workers=workers, seconds=seconds, future=future, begin=begin)
    console.print(_table(idleness))
    write("idle", asdict(idleness) | {"queries": idleness.queries}, to=to_json)


def measure(ground: Ground, *, workers: int, seconds: float, future: int, begin: Bar) -> Idleness:
    """First the server alone, then with workers, then for as long again with each statement in its log."""
    with floor.bare(ground.url) as database:
        filling.asleep(database, rows=future, progress=begin(f"{future:,} rows are put down", future))
    settle(ground.engine)
    length = round(seconds)
    alone = _server_share(ground, seconds=seconds, progress=begin("the server alone", length))
    with crew(ground, count=workers, progress=begin(f"{workers} workers start", workers)) as pids:
        time.sleep(SETTLE_SECONDS)
        before, cpu, began = counters(ground.engine), sum(map(cpu_seconds, pids)), time.monotonic()
        share = _server_share(ground, seconds=seconds, progress=begin("nothing is due", length))
        took = time.monotonic() - began
        after, spent = counters(ground.engine), sum(map(cpu_seconds, pids)) - cpu
        with ground.engine.connect() as connection:
            sessions = len(execute(connection, "bench/sessions").all())
        memory = sum(map(resident_bytes, pids))
        statements = _statements(ground, seconds=seconds, progress=begin("statements are counted", length))
    return Idleness(
        workers=workers,
        server_share=share,
        server_share_without=alone,
        worker_share=100 * spent / took / workers,
        transactions=(after["commits"] - before["commits"]) / took / workers,
        statements={verb: count / seconds / workers for verb, count in sorted(statements.items())},
        connections=sessions / workers,
        worker_bytes=memory / workers,
    )


def _server_share(ground: Ground, *, seconds: float, progress: Callable[[int], None]) -> float:
    before, began = family_cpu_seconds(ground.server_pid), time.monotonic()
    let_pass(seconds, progress=progress)
    return 100 * (family_cpu_seconds(ground.server_pid) - before) / (time.monotonic() - began)


def _statements(ground: Ground, *, seconds: float, progress: Callable[[int], None]) -> Counter[str]:
    """How often each verb was asked for, by the lines that the server writes."""
    with autocommit(ground.engine) as connection:
        execute(connection, "bench/log_statements")
        execute(connection, "bench/reload")
    time.sleep(LOOK_SECONDS)
    start = ground.server_log.stat().st_size
    let_pass(seconds, progress=progress)
    with ground.server_log.open("rb") as log:
        log.seek(start)
        said = log.read().decode(errors="replace")
    return Counter(verb.upper() or "PING" for verb in verbs(said))


def verbs(said: str) -> list[str]:
    """The first word of each statement in a server's log, comments before it left out; empty for an empty one."""
    asked = (_ASKED.search(entry) for entry in _ENTRY.split(said))
    return [_first_word(entry.string[entry.end() :]) for entry in asked if entry]


def _first_word(statement: str) -> str:
    words = [word for line in statement.splitlines() if not line.lstrip().startswith("--") for word in line.split()]
    return words[0].rstrip(";") if words else ""


def _table(idleness: Idleness) -> Table:
    def row(what: str, each: float, form: str = ".2f", wanted: str = "") -> tuple[str, ...]:
        return (what, format(each * idleness.workers, form), format(each, form), wanted)

    share = idleness.server_share / idleness.workers
    without = f"{idleness.server_share_without:.2f}"
    return table(
        f"{idleness.workers} idle workers",
        ("", "all", "each", "wanted"),
        [
            row("database's CPU (% of a core)", share, ".3f", f"≤ {WANTED_SHARE:g} in all"),
            ("the same without them", without, "–", ""),
            row("their own CPU (% of a core)", idleness.worker_share, wanted=f"≤ {WANTED_WORKER_SHARE:g} each"),
            row("queries a second", idleness.queries, wanted=f"≤ {WANTED_QUERIES:g} each"),
            *(row(f"  {verb}", rate) for verb, rate in idleness.statements.items()),
            row("transactions a second", idleness.transactions),
            row("connections", idleness.connections, ".1f"),
            row("memory (MB)", idleness.worker_bytes / 1e6, ",.0f"),
        ],
    )
