"""Two cells behind a door: what is one cell's is refused by the other, and a failure stays in its cell."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, NullPool, create_engine, make_url, text

from snoozer.operators import pauses
from snoozer.operators.pauses import Scope
from snoozer.people import addresses
from tests.conftest import missing
from tests.factories import (
    HOUR,
    a_feed,
    a_kept_message,
    a_snooze,
    an_original,
    now,
    the_row,
)
from tests.forked import PIPES
from tests.process import postfix
from tests.process.cells import DOMAIN, FRONT, PROCESSES, Cell, Cells, two_cells
from tests.process.conftest import ROOT, TIMEOUT, wait
from tests.process.environments import copy_sources

README = FRONT / "README.md"


@pytest.fixture(scope="module")
def cells(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cells]:
    with two_cells(make_url(postgres_url), tmp_path_factory.mktemp("cells")) as cells:
        for number in range(40):
            email = f"p{number}@{DOMAIN}"
            cells.of(email).join(email)
        yield cells


def both(cells: Cells) -> list[tuple[Cell, Cell]]:
    """The pairs of a cell and its neighbour."""
    return [(cells.a, cells.b), (cells.b, cells.a)]


def test_each_address_has_a_cell_that_fills_it_in_for_signing_in(cells: Cells) -> None:
    assert len(cells.a.people) + len(cells.b.people) == 40
    assert min(len(cells.a.people), len(cells.b.people)) > 5
    for cell, _ in both(cells):
        person = cell.people[0]
        where = cells.door.lead(f" {person.email.upper()} ")
        assert cells.door.run("cell", person.email) == cell.name
        status, page = cell.ask(where.removeprefix(cell.base_url))
        assert status == 200
        assert f'value="{person.email}"' in page
        assert 'href="http://snoozer.example"' in page


def test_a_thousand_mails_come_once_and_from_their_cell(cells: Cells) -> None:
    before = len(cells.sink.accepted())
    ids = {cell.name: cell.come_due(25) for cell, _ in both(cells)}
    wait(lambda: all(cell.has_sent(ids[cell.name]) for cell, _ in both(cells)))
    mails = cells.sink.accepted()[before:]
    assert (len(mails), len({mail["message_id"] for mail in mails})) == (1000, 1000)
    homes = {person.email: cell.name for cell, _ in both(cells) for person in cell.people}
    from_where = Counter((homes[mail["rcpt_to"][0]], mail["message_id"].rpartition("@")[2]) for mail in mails)
    assert from_where == {
        (cell.name, f"{cell.name}.snoozer.example>"): 25 * len(cell.people) for cell, _ in both(cells)
    }


def test_what_is_of_one_cell_is_refused_by_the_other(cells: Cells) -> None:
    for cell, other in both(cells):
        ann = cell.people[0]
        assert statuses(cell, other, "/api/v1/snoozes", authorization=f"Bearer {ann.token}") == (200, 401), "API token"
        assert statuses(cell, other, "/settings", cookie=f"snoozer_session={ann.session}") == (200, 303), "cookie"
        link = cell.place.run("account", "sign-in", ann.email).stdout.strip()
        assert statuses(cell, other, link.removeprefix(cell.base_url)) == (200, 404), "link for signing in"
        assert statuses(cell, other, link_of_a_mail(cells, cell)) == (200, 404), "link of a mail"
        feed = a_feed(cell.engine, account_id=ann.id)
        assert statuses(cell, other, f"/feeds/{feed}.ics") == (200, 404), "feed"
        assert [reply[:3] for reply in cell.deliver(ann.email, other.people[0].email)] == ["250", "550"], "LMTP"


def statuses(cell: Cell, other: Cell, path: str, **headers: Any) -> tuple[int, int]:
    return cell.ask(path, **headers)[0], other.ask(path, **headers)[0]


def link_of_a_mail(cells: Cells, cell: Cell) -> str:
    """The path in a mail about something that repeats."""
    pattern = re.compile(rf"List-Unsubscribe: <{cell.base_url}(/r/[^>\s]+)>")
    before = len(cells.sink.accepted())
    a_snooze(cell.engine, user_email=cell.people[0].email, recurrence={"every": "day"}, subject="Daily")

    def found() -> list[str]:
        return [path for mail in cells.sink.accepted()[before:] for path in pattern.findall(unfolded(mail["head"]))]

    wait(lambda: bool(found()))
    return found()[0]


def unfolded(head: str) -> str:
    return head.replace("\r\n ", " ")


def test_postfix_delivers_to_the_cell_of_each_recipient(cells: Cells) -> None:
    a, b = cells.a.people[1].email, cells.b.people[1].email
    assert cells.door.transport(f"someone@elsewhere.{DOMAIN}") == "NOTFOUND "
    assert cells.door.transport("no address") == "NOTFOUND "
    for cell, email in ((cells.a, a), (cells.b, b)):
        for each in (email, email.upper(), email.replace("@", "+lists@")):
            assert cells.door.transport(each) == f"OK lmtp:{cell.lmtp}"
    if postfix.program() is None:
        missing("Postfix")
    with postfix.running(recipe(cells)) as relay:
        asked = ["postmap", "-c", str(relay.home / "etc"), "-q", a, f"socketmap:inet:127.0.0.1:{cells.door.port}:cells"]
        assert subprocess.check_output(asked, text=True).strip() == f"lmtp:{cells.a.lmtp}"
        relay.send(an_original(message_id="<through-postfix@mail.example>"), a, b)
        for cell, email in ((cells.a, a), (cells.b, b)):
            wait(lambda cell=cell, email=email: has_message(cell, "<through-postfix@mail.example>", email))  # type: ignore[misc]
            # Each cell has a domain for mail that acts, and refuses a key that it does not know.
            unknown = f"3d+key@{cell.name}.snooze.example.org"
            relay.send(an_original(), unknown, mail_from="")
            refused = re.compile(rf"to=<{re.escape(unknown)}>.*:{cell.lmtp.rpartition(':')[2]},.* 550 ")
            wait(lambda refused=refused: bool(refused.search((relay.home / "log").read_text())))  # type: ignore[misc]
        wait(relay.is_empty)


def recipe(cells: Cells) -> str:
    """The lines of the README, with the places of this test."""
    lines: str
    [lines] = re.findall(r"^```postfix\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    places = {
        "inet:127.0.0.1:8026": f"inet:127.0.0.1:{cells.door.port}",
        "inet:10.0.0.11:8024": cells.a.lmtp,
        "inet:10.0.0.12:8024": cells.b.lmtp,
        "domains = example.org": f"domains = {DOMAIN}",
    }
    for written, here in places.items():
        assert written in lines
        lines = lines.replace(written, here)
    return lines


def has_message(cell: Cell, message_id: str, email: str) -> bool:
    rows = text("SELECT count(*) FROM messages WHERE message_id = :id AND user_email = :email")
    with cell.engine.connect() as connection:
        return bool(connection.execute(rows, {"id": message_id, "email": email}).scalar_one())


def test_without_the_door_people_and_mail_go_on(cells: Cells) -> None:
    cells.door.close()
    try:
        for cell, _ in both(cells):
            ann = cell.people[0]
            assert cell.ask("/settings", cookie=f"snoozer_session={ann.session}")[0] == 200
            assert cell.ask("/sign-in")[0] == 200
            assert cell.deliver(ann.email)[0].startswith("250")
            cell.sends_new()
    finally:
        cells.door.open()
    assert cells.of(cells.b.people[0].email) is cells.b


def test_a_database_that_is_down_stops_its_own_cell(cells: Cells) -> None:
    with no_connections(cells.b.engine):
        assert (cells.a.ready(), cells.b.ready()) == (200, 503)
        assert cells.b.deliver(cells.b.people[0].email)[0][:1] == "4"
        cells.a.sends_new()
        assert cells.of(cells.b.people[0].email) is cells.b
        assert (cells.a.ready(), cells.b.ready()) == (200, 503)
    wait(lambda: cells.b.ready() == 200)
    cells.b.sends_new()


@contextmanager
def no_connections(engine: Engine) -> Iterator[None]:
    """The server ends all connections to this database and accepts none."""
    name = engine.url.database
    server = create_engine(engine.url.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    engine.dispose()
    with server.connect() as connection:
        connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
        connection.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"), {"name": name}
        )
        try:
            yield
        finally:
            connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))


def test_a_person_moves_by_export_and_import(cells: Cells, tmp_path: Path) -> None:
    old, new = cells.a, cells.b
    ann = old.join(f"ann.moves@{DOMAIN}")
    old.people.remove(ann)
    cells.door.run("store", old.name, given=ann.email)
    asleep = a_snooze(old.engine, user_email=ann.email, remind_at=now() + HOUR, message_id="<asleep@mail.example>")
    a_kept_message(old.engine, user_email=ann.email, message_id="<kept@mail.example>")

    with old.engine.begin() as connection:
        assert pauses.pause(connection, Scope(kind="person", value=ann.email), actor="command", reason="moves")
    for kind in ("json", "zip"):
        ran(old, "account", "export", ann.email, "--format", kind, "-o", str(tmp_path / f"ann.{kind}"))
    ran(new, "account", "create", ann.email)
    for kind in ("json", "zip"):
        ran(new, "account", "import", ann.email, str(tmp_path / f"ann.{kind}"))
    ran(old, "account", "close", ann.email)
    cells.door.run("store", new.name, given=ann.email)

    assert cells.of(ann.email) is new
    assert cells.door.transport(ann.email) == f"OK lmtp:{new.lmtp}"
    assert has_message(new, "<kept@mail.example>", ann.email)
    assert new.deliver(ann.email)[0].startswith("250")
    promised = the_row(old.engine, asleep).scheduled_for or the_row(old.engine, asleep).remind_at
    [(moved, when)] = snoozes_of(new, ann.email)
    assert when == promised
    tokens = [cell.ask("/api/v1/snoozes", authorization=f"Bearer {ann.token}")[0] for cell in (old, new)]
    sessions = [cell.ask("/settings", cookie=f"snoozer_session={ann.session}")[0] for cell in (old, new)]
    assert (tokens, sessions) == ([401, 401], [303, 303]), "tokens and sessions do not move"

    for cell, id in ((old, asleep), (new, moved)):
        with cell.engine.begin() as connection:
            connection.execute(text("UPDATE email_snoozes SET remind_at = now() WHERE id = :id"), {"id": id})
        cell.sends_new()
    wait(lambda: new.place.is_sent(moved))
    mails = [mail["message_id"] for mail in cells.sink.accepted() if mail["rcpt_to"] == [ann.email]]
    assert [message_id.rpartition("@")[2] for message_id in mails] == ["b.snoozer.example>"]
    assert not old.place.is_sent(asleep)


def ran(cell: Cell, *command: str) -> None:
    ended = cell.place.run(*command)
    assert ended.returncode == 0, ended.stderr


def snoozes_of(cell: Cell, email: str) -> list[tuple[int, datetime]]:
    rows = text("SELECT id, snooze_promise(email_snoozes) FROM email_snoozes WHERE user_email = :email")
    with cell.engine.connect() as connection:
        return [(row[0], row[1]) for row in connection.execute(rows, {"email": email})]


def test_the_readmes_query_names_the_addresses_of_a_cell(cells: Cells) -> None:
    """Its lines enter a directory that was lost; then each person is led to their cell, and so is each address that a
    person added."""
    query = re.search(r'-Atc "(SELECT .*?)"', README.read_text(), re.DOTALL)
    assert query is not None
    added = {}
    for cell, _ in both(cells):
        with cell.engine.begin() as connection:
            for number in range(5):
                email = f"added{number}.{cell.name}@{DOMAIN}"
                assert addresses.vouch(connection, account_id=cell.people[0].id, email=email)
                added[email] = cell
    Path(cells.door.environment["FRONT_DIRECTORY"]).unlink()
    for cell, _ in both(cells):
        with cell.engine.connect() as connection:
            lines = connection.execute(text(query[1])).scalars().all()
        assert {person.email for person in cell.people} <= set(lines)
        cells.door.run("store", cell.name, given="\n".join(lines))
    homes = added | {person.email: cell for cell, _ in both(cells) for person in cell.people}
    assert {email: cells.door.run("cell", email) for email in added} == {
        email: cell.name for email, cell in added.items()
    }
    assert all(cells.of(email) is cell for email, cell in homes.items())


def test_cells_are_upgraded_one_after_the_other(cells: Cells, tmp_path: Path) -> None:
    """The next release migrates one cell, and holds the lock of its migration; the other works. Then the
    first works with the next release and the second still with this one."""
    release = next_release(tmp_path / "next")
    for cell, other in ((cells.a, cells.b), (cells.b, cells.a)):
        with cell.engine.connect() as holder:
            holder.execute(text("SELECT pg_advisory_lock(38)"))
            migrating = start(cell, release, "migrate")
            wait(lambda migrating=migrating: migrating.poll() is not None or is_locked(holder))  # type: ignore[misc]
            assert migrating.poll() is None
            other.sends_new()
            assert other.ready() == 200
            holder.execute(text("SELECT pg_advisory_unlock(38)"))
        out, err = migrating.communicate(timeout=TIMEOUT)
        assert (migrating.returncode, "to 9999" in out) == (0, True), err
        cell.sends_new()
        cell.stop()
        cell.processes |= {name: start(cell, release, name) for name in PROCESSES}
        wait(lambda cell=cell: takes_mail(cell))  # type: ignore[misc]
        for each in (cell, other):
            each.sends_new()
            assert each.ready() == 200
    mails = [mail["message_id"] for mail in cells.sink.accepted()]
    assert len(mails) == len(set(mails))


def is_locked(connection: Connection) -> bool:
    """Does the migration wait for the lock that this connection holds?"""
    waiting = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 38 AND NOT granted")
    return bool(connection.execute(waiting).scalar_one())


def next_release(folder: Path) -> Path:
    """This checkout with one more migration."""
    copy_sources(folder)
    head = sorted(path.name[:4] for path in (ROOT / "migrations" / "versions").glob("[0-9]*.py"))[-1]
    (folder / "migrations" / "versions" / "9999_next.py").write_text(
        f'from alembic import op\n\nrevision, down_revision = "9999", "{head}"\nbranch_labels = depends_on = None\n\n\n'
        "def upgrade() -> None:\n"
        '    op.execute("ALTER TABLE email_snoozes ADD COLUMN next_release integer")\n'
        '    op.execute("SET LOCAL lock_timeout = 0")\n'
        '    op.execute("SELECT pg_advisory_xact_lock(38)")\n'
    )
    return folder


def start(cell: Cell, release: Path, command: str) -> "subprocess.Popen[str]":
    """A command of the code in this folder."""
    environment = cell.place.environment | {"PYTHONPATH": str(release), "PYTHONDONTWRITEBYTECODE": ""}
    started = subprocess.Popen([sys.executable, "-m", "snoozer", command], cwd=release, env=environment, **PIPES)
    cell.place.started.append(started)
    return started


def takes_mail(cell: Cell) -> bool:
    with suppress(OSError):
        return cell.deliver(cell.people[0].email)[0].startswith("250")
    return False
