"""What tests share: a real Postgres of their own, an empty database for each test, and what a missing tool means."""

import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from asyncio.events import _get_running_loop, _set_running_loop
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import hypothesis
import pytest
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, expect, sync_playwright
from sqlalchemy import Connection, Engine, NullPool, create_engine, text

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.dev.postgres import Postgres
from snoozer.dev.processes import database_reaper
from snoozer.settings import Settings
from snoozer.telemetry.log_format import SECURITY
from tests import corpus
from tests.compiled_routes import CompiledRule
from tests.compiled_templates import CompiledTemplates
from tests.emptying import empty
from tests.factories import People
from tests.stalling import StallingWay

CHROMIUMS = (
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
TESTS = Path(__file__).resolve().parent
PEERS = TESTS.parent / "bench" / ".venv"
# Far above what a page or a process needs: only one that hangs is to fail, not one of a machine that has other work.
HANG_SECONDS = 300
HANG_MILLISECONDS = HANG_SECONDS * 1000
# Of memory, for the databases of all processes of a run, which take less than one GiB each.
PLENTY_OF_BYTES = 8 * 1024**3
# The quick half: rules and mail. What needs a database for nearly every test (db, web) has no marker.
FOLDERS = {"unit": "fast", "imap": "fast", "mail": "fast", "process": "process", "chaos": "chaos", "browser": "browser"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test has the marker of its folder."""
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        marker = FOLDERS.get(folder)
        if marker is not None:
            item.add_marker(marker)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The run ends with what it left out."""
    left_out = []
    if not corpus.is_real():
        left_out.append("the corpus of real broken mail is not beside the checkout: generated messages stood in")
    if not PEERS.exists():
        left_out.append("the other queues are not installed in bench/.venv: `make compare` installs them")
    if os.environ.get("SNOOZER_STORM") != "1":
        left_out.append("storms and long sweeps ran as a sample: `make storm` runs them whole")
    for line in left_out:
        terminalreporter.write_line(f"Left out: {line}")


def pytest_configure() -> None:
    """A run that a time limit or a closed terminal stops ends as one that is interrupted: fixtures are torn down. And
    Hypothesis does everywhere as on CI: the same examples each time, which take whatever time they take."""
    storm = os.environ.get("SNOOZER_STORM") == "1"
    hypothesis.settings.register_profile("tests", deadline=None, derandomize=not storm)
    hypothesis.settings.load_profile("tests")
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _exit)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    pytest.exit(f"stopped by {signal.Signals(number).name}", returncode=128 + number)


def missing(tool: str) -> None:
    """Leave a test out because this machine lacks a tool; on CI that is a failure, never a quiet gap."""
    if os.environ.get("CI"):
        pytest.fail(f"{tool} is missing, and on CI nothing may be left out")
    pytest.skip(f"left out: {tool} is missing (make test names the line that installs it)")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser a run; each test opens a context of its own."""
    found = [path for path in CHROMIUMS if Path(path).exists()]
    if not found:
        missing("Chromium")
    expect.set_options(timeout=HANG_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def no_loop_of_a_browser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Playwright's loop counts as running in its thread between its calls, and `asyncio.run` refuses there: what a
    test without a browser sees must not depend on whether one came before it."""
    running = None if "chromium" in request.fixturenames else _get_running_loop()
    if running is None:
        yield
        return
    _set_running_loop(None)
    yield
    _set_running_loop(running)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A command that runs in this process logs to standard error from then on: not into what later tests read there."""
    root, security = logging.getLogger(), logging.getLogger(SECURITY)
    known, levels, hooks = list(root.handlers), (root.level, security.level), (sys.excepthook, threading.excepthook)
    yield
    for handler in list(root.handlers):
        if handler not in known and type(handler).__module__.startswith("snoozer."):
            root.removeHandler(handler)
    root.setLevel(levels[0])
    security.setLevel(levels[1])
    sys.excepthook, threading.excepthook = hooks


@pytest.fixture(scope="session")
def messages() -> dict[str, bytes]:
    """Original bytes of broken messages by name: the real corpus, or the generated one where that is missing."""
    return corpus.messages()


@pytest.fixture(scope="session")
def real_messages() -> dict[str, bytes]:
    """The real corpus, for tests that name its messages; they are left out where it is missing."""
    if not corpus.is_real():
        pytest.skip("left out: the corpus of real messages does not lie beside the checkout")
    return corpus.messages()


def _databases_folder() -> Path | None:
    """A folder in memory where there is plenty of it, unless TMPDIR names one: a commit waits for a disk for as long as
    ten statements take."""
    memory, meminfo = Path("/dev/shm"), Path("/proc/meminfo")
    if "TMPDIR" in os.environ or not memory.is_dir() or not meminfo.exists():
        return None
    available = int(meminfo.read_text().partition("MemAvailable:")[2].split()[0]) * 1024
    return memory if min(available, shutil.disk_usage(memory).free) > PLENTY_OF_BYTES else None


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server made for this run, on loopback, gone afterwards. SNOOZER_PG_BIN chooses another one's programs."""
    with a_postgres() as server:
        yield sqlalchemy_url(server)


@contextmanager
def a_postgres() -> Iterator[Postgres]:
    """A running server, gone afterwards whatever happens."""
    home = Path(tempfile.mkdtemp(prefix="snoozer-tests-", dir=_databases_folder()))
    home.chmod(0o755)
    wanted = os.environ.get("SNOOZER_PG_BIN")
    with database_reaper() as register:
        server = Postgres(home, wanted=Path(wanted) if wanted else None, shared=home / "shared", on_launch=register)
        try:
            server.start()
            _stop_autovacuum(sqlalchemy_url(server))
            yield server
        finally:
            server.stop()
            shutil.rmtree(home, ignore_errors=True)


def sqlalchemy_url(server: Postgres) -> str:
    return server.url.replace("postgresql://", "postgresql+psycopg://")


def _stop_autovacuum(url: str) -> None:
    """Statistics are taken if a test takes them: autovacuum may count a table while rows are being inserted, and plans
    by the number it found."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text("ALTER SYSTEM SET autovacuum_naptime = '20d'"))
        connection.execute(text("SELECT pg_reload_conf()"))


@pytest.fixture(scope="session")
def compiled_site() -> None:
    """Every app has the templates and routes that the first one compiled: that takes longer than most requests."""
    from snoozer.web import Site

    Site.jinja_options["bytecode_cache"] = CompiledTemplates()
    Site.url_rule_class = CompiledRule


@pytest.fixture(scope="session")
def migrated(postgres_url: str, compiled_site: None) -> Iterator[Engine]:
    engine = make_engine(postgres_url, name="tests", pool_size=10)
    schema.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def empty_database(migrated: Engine) -> Iterator[Engine]:
    """Another database with nothing in it, as `createdb --template=template0 --encoding=UTF8` leaves it."""
    # Its sessions have all the time they need: to drop a database is a checkpoint of all others.
    patient = create_engine(migrated.url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with patient.connect() as connection:
        connection.execute(text("DROP DATABASE IF EXISTS another"))
        connection.execute(text("CREATE DATABASE another TEMPLATE template0 ENCODING 'UTF8'"))
    engine = make_engine(migrated.url.set(database="another").render_as_string(hide_password=False), name="tests")
    yield engine
    engine.dispose()
    with patient.connect() as connection:
        connection.execute(text("DROP DATABASE another WITH (FORCE)"))


@pytest.fixture
def engine(migrated: Engine) -> Engine:
    """The migrated database, empty; ids begin at 1."""
    empty(migrated)
    return migrated


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    """A transaction that is rolled back, for what needs no second connection."""
    with engine.connect() as connection:
        yield connection


@pytest.fixture
def way(engine: Engine) -> Iterator[StallingWay]:
    """A way to the migrated database that can be made to stall."""
    with StallingWay(engine.url.render_as_string(hide_password=False)) as way:
        yield way


@pytest.fixture
def settings(postgres_url: str, tmp_path: Path) -> Settings:
    """Settings of a web process in production, with the address of a mail server that does not run."""
    return Settings(
        DATABASE_URL=postgres_url,
        SECRET_KEY="a-test-key-of-enough-length,an-older-test-key-of-length",
        BASE_URL="http://snoozer.example",
        SMTP_URL="smtp://127.0.0.1:9",
        MAIL_FROM="Snoozer <snoozer@snoozer.example>",
        SNOOZER_HOME=tmp_path,
        SNOOZER_SINK=True,
    )


@pytest.fixture
def people(engine: Engine) -> People:
    """Accounts with sessions and tokens: `people.ann()`, `people.operator()`."""
    return People(engine)


@pytest.fixture
def app(engine: Engine, settings: Settings) -> Flask:
    from snoozer.web import create_app

    app = create_app(engine=engine, settings=settings)
    app.config["TESTING"] = False
    app.config["WTF_CSRF_ENABLED"] = False
    return app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser without a session."""
    return app.test_client()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other accounts can pass through, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="snoozer-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)
