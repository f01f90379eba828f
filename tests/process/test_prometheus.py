"""The alert rules and the dashboard of deploy/: valid, about metrics that exist, and true of real outages."""

import json
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.dev import ports
from tests.conftest import HANG_SECONDS, missing
from tests.db.pushes import a_pushed_device
from tests.factories import People, a_mailbox, a_snooze, now
from tests.mail.scripted_server import HOLD, SLOW, USUAL, ScriptedServer
from tests.process.conftest import ROOT, TIMEOUT, Field
from tests.web.live_site import LiveSite, live_site

RULES = ROOT / "deploy" / "prometheus"
DASHBOARD = ROOT / "deploy" / "grafana" / "snoozer.json"
RUNBOOK = ROOT / "docs" / "runbook.md"
PATH = "/usr/bin:/usr/local/bin:/opt/homebrew/bin"
# Words in expressions that are no metrics.
FUNCTIONS = {"histogram_quantile", "max_over_time"}
OF_PROMETHEUS = {"up", "ALERTS"}
EXPRESSION = re.compile(r"^ +expr: (?:>-\n((?: {10,}.*\n)+)|(.*)\n)", re.M)
POLL = 0.2
# The mail server answers one mail a second, so the last of so many is always late.
WAITING = 8
# Many heartbeats in the time after which a worker is lost: one that waits for a processor is not.
BEATS = {"SNOOZER_HEARTBEAT_SECONDS": "0.4", "SNOOZER_WORKER_DEAD_SECONDS": "6"}


def program(name: str) -> str:
    found = shutil.which(name, path=PATH)
    if found is None:
        missing("prometheus")
    return str(found)


@pytest.mark.parametrize("words", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts.test.yml")], ids=str)
def test_the_rules_are_valid_and_each_alert_fires_and_ends(words: tuple[str, ...]) -> None:
    done = subprocess.run([program("promtool"), *words], cwd=RULES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_tested_and_names_its_page_of_the_runbook() -> None:
    rules = (RULES / "alerts.yml").read_text()
    alerts = re.findall(r"alert: (\w+)", rules)
    tests = (RULES / "alerts.test.yml").read_text()
    assert [alert for alert in alerts if alert not in tests] == []
    headings = re.findall(r"^## (.*)$", RUNBOOK.read_text(), re.M)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    linked = re.findall(r"runbook_url: docs/runbook\.md#(\S+)", rules)
    assert len(linked) == len(alerts)
    assert set(linked) <= anchors


def expressions() -> Iterator[str]:
    for block, line in EXPRESSION.findall((RULES / "alerts.yml").read_text()):
        yield block or line
    panels = json.loads(DASHBOARD.read_text())["panels"]
    yield from (target["expr"] for panel in panels for target in panel.get("targets", []))


def metrics_in(expression: str) -> set[str]:
    bare = re.sub(r'\{[^}]*\}|"[^"]*"|\[[^\]]*\]', " ", expression)
    bare = re.sub(r"\bby \([^)]*\)", " ", bare)
    return set(re.findall(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b", bare)) - FUNCTIONS


def test_each_metric_of_rules_and_dashboard_is_in_a_scrape(
    place: Field, people: People, tmp_path: Path, postgres_url: str
) -> None:
    wanted = set().union(*map(metrics_in, expressions()))
    assert len(wanted) > 40
    account = people.ann().id
    a_mailbox(place.engine)
    a_pushed_device(place.engine, account_id=account, url="https://push.example/1")
    a_snooze(place.engine)
    a_snooze(place.engine, claimed_at=now(), claimed_by="gone-1-0123abcd", lease_expires_at=now())
    with ExitStack() as running, ScriptedServer(rcpt=["550 5.1.1 unknown", USUAL["rcpt"]]) as server:
        site = running.enter_context(live_site(postgres_url, tmp_path))
        settings = {"SMTP_URL": f"smtp://127.0.0.1:{server.port}", "SNOOZER_METRICS_PORT": str(ports.any_free())}
        processes = [running.enter_context(a_process(place, name, **settings)) for name in ("worker", "clock")]
        served = [metrics_port(process) for process in processes]
        assert site.request("/sign-in")[0] == 200

        def scraped() -> set[str]:
            pages = [site.request("/metrics")[1], *map(page, served)]
            return {re.split(r"[{ ]", line)[0] for text in pages for line in text.splitlines() if line[:1] != "#"}

        until(lambda: wanted <= scraped(), lambda: f"not in a scrape: {sorted(wanted - scraped())}")


def metrics_port(process: "subprocess.Popen[str]") -> int:
    """The port on which a process serves its metrics, by its log. It takes the next one if its own is in use."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"metrics are served on http://127.0.0.1:(\d+)/metrics", line):
            return int(found[1])
    raise AssertionError("the process ended before it served metrics")


def page(port: int) -> str:
    """The page /metrics at this port."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=HANG_SECONDS) as answer:
        return str(answer.read().decode())


@contextmanager
def a_process(place: Field, *command: str, **settings: str) -> "Iterator[subprocess.Popen[str]]":
    process = place.start(*command, **settings)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT)


def until(holds: Callable[[], bool], problem: Callable[[], str]) -> None:
    ends = time.monotonic() + HANG_SECONDS
    while not holds():
        assert time.monotonic() < ends, problem()
        time.sleep(POLL)


@contextmanager
def prometheus(folder: Path, site: LiveSite) -> Iterator[Callable[[], set[str]]]:
    """Prometheus itself with our rules, which wait for nothing here, forget lost workers after twelve seconds, and take
    two seconds for minutes; yields what tells the alerts that fire.

    A scrape may take as long as a busy machine needs: one that is cut off is an alert of its own."""
    rules = re.sub(r"for: \w+", "for: 0s", (RULES / "alerts.yml").read_text())
    rules = re.sub(r"(workers_lost)\[\w+\]", r"\1[12s]", rules)
    rules = re.sub(r"(queue_oldest_(?:claim|due)_seconds\)) > \d+", r"\1 > 2", rules)
    (folder / "alerts.yml").write_text(rules)
    configuration: dict[str, Any] = {
        "global": {"scrape_interval": "3s", "scrape_timeout": "3s", "evaluation_interval": "500ms"},
        "rule_files": ["alerts.yml"],
        "scrape_configs": [
            {"job_name": "snoozer", "static_configs": [{"targets": [f"127.0.0.1:{site.port}"]}]},
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(configuration))
    port = ports.any_free()
    options = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}"]
    with (folder / "prometheus.log").open("wb") as log:
        server = subprocess.Popen([program("prometheus"), *options], cwd=folder, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}/api/v1/alerts"

    def firing() -> set[str]:
        try:
            with urllib.request.urlopen(address, timeout=HANG_SECONDS) as answer:
                alerts = json.load(answer)["data"]["alerts"]
        except OSError:
            return set()
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    try:
        yield firing
    finally:
        server.terminate()
        server.wait(timeout=TIMEOUT)


def due(engine: Engine) -> int:
    """How many snoozes wait for a worker."""
    with engine.connect() as connection:
        waiting = "SELECT count(*) FROM email_snoozes WHERE NOT inactive AND claimed_at IS NULL"
        return int(connection.execute(text(waiting)).scalar_one())


def test_alerts_of_real_outages_fire_and_end(place: Field, engine: Engine, tmp_path: Path, postgres_url: str) -> None:
    """The mail server refuses connections, and no clock runs; then it takes them and says nothing more, then it goes on
    and a clock runs, and then it takes its time for each mail."""
    program("prometheus")
    a_snooze(engine, remind_at=now())
    hangs, late = "SnoozerDeliveriesHang", "SnoozerRemindersLate"
    expected = {"SnoozerMailServerLeftAlone", "SnoozerClockDead"}
    with ExitStack() as running, ScriptedServer(banner="421 4.3.2 we are away") as server:
        settings = {
            "SMTP_URL": f"smtp://127.0.0.1:{server.port}",
            "SNOOZER_BREAKER_THRESHOLD": "1",
            "SNOOZER_BREAKER_COOLDOWN_SECONDS": "1",
        }
        site = running.enter_context(live_site(postgres_url, tmp_path))
        firing = running.enter_context(prometheus(tmp_path, site))
        running.enter_context(a_process(place, "worker", "--batch=1", "--concurrency=1", **settings))
        until(lambda: expected <= firing(), lambda: f"only these fire: {firing()}")
        server.answer("banner", HOLD)
        until(lambda: hangs in firing(), lambda: f"only these fire: {firing()}")
        server.answer("banner", USUAL["banner"])
        server.answer("dot", SLOW)
        server.go_on.set()
        running.enter_context(a_process(place, "clock", **settings))

        def is_late() -> bool:
            for _ in range(WAITING - due(engine)):
                a_snooze(engine, remind_at=now())
            return late in firing()

        until(is_late, lambda: f"only these fire: {firing()}")
        server.answer("dot", USUAL["dot"])
        until(lambda: not (expected | {hangs, late}) & firing(), lambda: f"these still fire: {firing()}")


def test_alerts_fire_while_locks_fill_the_database_and_workers_are_frozen(
    place: Field, engine: Engine, tmp_path: Path, postgres_url: str
) -> None:
    program("prometheus")
    with ExitStack() as running:
        site = running.enter_context(live_site(postgres_url, tmp_path, **BEATS))
        firing = running.enter_context(prometheus(tmp_path, site))
        running.enter_context(a_process(place, "clock", **BEATS))
        workers = [running.enter_context(a_process(place, "worker", **BEATS)) for _ in range(2)]
        until(lambda: site.request("/metrics")[1].count("workers_alive 2.0") == 1, lambda: "two workers are not alive")
        until(lambda: not firing(), lambda: f"these fire: {firing()}")
        workers[0].send_signal(signal.SIGSTOP)
        until(lambda: "SnoozerWorkersLost" in firing(), lambda: f"only these fire: {firing()}")
        workers[0].kill()
        with engine.begin() as holder:
            holder.execute(text("LOCK TABLE email_snoozes IN ACCESS EXCLUSIVE MODE"))
            until(lambda: "SnoozerFiguresMissing" in firing(), lambda: f"only these fire: {firing()}")
        until(lambda: not firing(), lambda: f"these still fire: {firing()}")
