"""`bench api`: API requests a second, creating and listing snoozes, compared with a plain Flask application."""

import http.client
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import click
from rich.table import Table

from bench import options
from bench.environment import Environment, scratch_environment
from bench.http_load import PATH, PRODUCT, REQUEST_TIMEOUT, Site, reader, served
from bench.report import BenchError, StartStage, open_console, percentile, progress_bar, table, write_json

API, PLAIN = "the API", "plain Flask"
APPLICATIONS = {API: PRODUCT, PLAIN: "bench.plain_site:from_environment()"}
WORKS = ("create", "list")
WARM_UP = 20
# No quota ends the run.
_LIMITS = ("REQUESTS", "TOKEN_REQUESTS", "SNOOZES", "TOKEN_SNOOZES")
SETTINGS = {f"SNOOZER_LIMIT_{name}_PER_MINUTE": "0" for name in _LIMITS} | {"SNOOZER_LIMIT_SNOOZES_PER_DAY": "0"}

_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Rate:
    """The result of one site: requests a second of all clients together, and the duration of a request."""

    site: str
    work: str
    requests: int
    per_second: float
    p50_ms: float
    p95_ms: float


@click.command(name="api", short_help="Requests a second of the API, beside a plain Flask application.")
@click.option("--requests", type=click.IntRange(10, 1_000_000), default=1_000, show_default=True, help="Of each work.")
@click.option("--clients", type=click.IntRange(1, 64), default=4, show_default=True, help="That wait for each answer.")
@options.rounds(help="Runs of each site, in turn.")
@options.to_json
def command(requests: int, clients: int, rounds: int, to_json: Path | None) -> None:
    """Create snoozes and list fifty, in one process each, served by the same gunicorn beside the same database.

    The plain one is Flask with one INSERT and one SELECT: no token, no quotas, no check of what it is sent.
    """
    console = open_console()
    with progress_bar(console) as start_stage, scratch_environment(work=(0, 0)) as environment:
        rates = list(_measure(environment, requests=requests, clients=clients, rounds=rounds, start_stage=start_stage))
    medians = [
        _medians([one for one in rates if (one.site, one.work) == (site, work)])
        for work in WORKS
        for site in APPLICATIONS
    ]
    ratios = {work: _ratio(rates, work) for work in WORKS}
    console.print(_table(medians, ratios))
    figures = {"medians": [asdict(one) for one in medians], "rounds": [asdict(one) for one in rates], "ratios": ratios}
    write_json("api", figures, to=to_json)


def _measure(
    environment: Environment, *, requests: int, clients: int, rounds: int, start_stage: StartStage
) -> Iterator[Rate]:
    token = reader(environment)
    with ExitStack() as stack:
        sites = {
            name: stack.enter_context(served(environment, application, token=token, settings=SETTINGS))
            for name, application in APPLICATIONS.items()
        }
        for site, work in itertools.product(sites.values(), WORKS):
            _ask(site, work, count=WARM_UP)
        for number, work, name in itertools.product(range(1, rounds + 1), WORKS, sites):
            progress = start_stage(f"round {number} of {rounds}: {name}, {work}", requests)
            shares = [len(range(client, requests, clients)) for client in range(clients)]
            start = time.monotonic()
            with ThreadPoolExecutor(clients) as threads:
                asked = [threads.submit(_ask, sites[name], work, count=share) for share in shares]
                seconds = [one for future in asked for one in future.result()]
            took = time.monotonic() - start
            progress(requests)
            yield Rate(
                site=name,
                work=work,
                requests=len(seconds),
                per_second=len(seconds) / took,
                p50_ms=1000 * percentile(seconds, 0.5),
                p95_ms=1000 * percentile(seconds, 0.95),
            )


def _ask(site: Site, work: str, *, count: int) -> list[float]:
    """Return the seconds that each of `count` requests took, one after the other on one connection."""
    headers = {"Authorization": f"Bearer {site.token}", "Content-Type": "application/json"}
    remind_at = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    method, wanted = ("POST", 201) if work == "create" else ("GET", 200)
    seconds = []
    with closing(http.client.HTTPConnection("127.0.0.1", site.port, timeout=REQUEST_TIMEOUT)) as connection:
        for _ in range(count):
            named = {"message_id": f"<{next(_numbers)}@bench.example>", "subject": "Offer", "remind_at": remind_at}
            start = time.monotonic()
            connection.request(method, PATH, body=json.dumps(named) if work == "create" else None, headers=headers)
            response = connection.getresponse()
            response.read()
            seconds.append(time.monotonic() - start)
            if response.status != wanted:
                raise BenchError(f"A request to {work} was answered with {response.status}")
    return seconds


def _medians(rounds: Sequence[Rate]) -> Rate:
    return Rate(
        site=rounds[0].site,
        work=rounds[0].work,
        requests=sum(one.requests for one in rounds),
        per_second=median(one.per_second for one in rounds),
        p50_ms=median(one.p50_ms for one in rounds),
        p95_ms=median(one.p95_ms for one in rounds),
    )


def _ratio(rates: Sequence[Rate], work: str) -> float:
    """Return how many times as many requests the plain site serves, by the median of the rounds."""
    ours, plain = ([one.per_second for one in rates if (one.site, one.work) == (site, work)] for site in (API, PLAIN))
    return median(theirs / own for own, theirs in zip(ours, plain, strict=True))


def _table(medians: Sequence[Rate], ratios: dict[str, float]) -> Table:
    ratio_text = ", ".join(f"{work} {ratio:.1f}" for work, ratio in ratios.items())
    return table(
        "Requests a second, one web process",
        ("site", "a second", "p50 ms", "p95 ms"),
        [
            (f"{one.site}, {one.work}", f"{one.per_second:,.0f}", f"{one.p50_ms:,.1f}", f"{one.p95_ms:,.1f}")
            for one in medians
        ],
        caption=f"Medians of the rounds. The plain one does so many times as many: {ratio_text}.",
    )
