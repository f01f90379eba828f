"""An account is exported, deleted and imported into a fresh instance: snoozes, repeats, history and originals are the
same; and a ZIP of whatever origin is read within bounds."""

import json
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from sqlalchemy import Engine, text

from snoozer.db import mailbox_store
from snoozer.db.models import Account
from snoozer.delivery.chores import chores
from snoozer.delivery.chores.erasing import erase_accounts
from snoozer.people import accounts
from snoozer.people.limits import Limits
from snoozer.people.personal_data import deletion, importing, restoring
from snoozer.people.personal_data.files import FILES
from snoozer.people.personal_data.import_file import NotAnExport
from snoozer.people.personal_data.restoring import Restored
from snoozer.settings import Settings
from tests.db.archived import RETENTION, finished, sent
from tests.export_files import DAY, read_bytes
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, an_original, asked_for, now

LARGEST = 100_000
SAME = ("message_id", "sha256", "folder", "unread", "arrived_at", "returns_at", "subject", "sender_email", "sent_at")


@pytest.fixture
def limits(settings: Settings) -> Limits:
    return settings.limits


def the_account(engine: Engine) -> Account:
    with engine.connect() as connection:
        account = accounts.find(connection, email=ANN)
    assert account is not None
    return account


def exported(engine: Engine, ending: str) -> bytes:
    return b"".join(FILES[ending].write(engine, the_account(engine), now()))


def restored(engine: Engine, limits: Limits, content: bytes) -> Restored:
    with engine.begin() as connection:
        return restoring.restore(
            connection, BytesIO(content), account=the_account(engine), limits=limits, largest_message=LARGEST
        )


def a_zip(**files: bytes) -> bytes:
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for name, piece in files.items():
            archive.writestr(name.replace("_", "."), piece)
    return content.getvalue()


def contents(content: bytes) -> list[str]:
    """What an export says of snoozes, kept promises and kept messages, without the numbers of this place."""
    records = json.loads(content)
    of = {record["id"]: record["message_id"] for record in records if record["type"] == "snooze"}
    without = {"id", "last_error", "snooze_duration_hours", "mailbox", "origin_folder"}
    found = []
    for record in records:
        if record["type"] == "snooze":
            found.append({name: value for name, value in record.items() if name not in without})
        elif record["type"] == "send" and record["state"] == "sent":
            found.append({"of": of[record["snooze"]], "promised": record["promised"], "sent_at": record["sent_at"]})
        elif record["type"] == "kept_message":
            found.append({name: record[name] for name in SAME})
    return sorted(json.dumps(record, sort_keys=True) for record in found)


def kept(content: bytes) -> list[tuple[bytes, str]]:
    """The messages of a ZIP with their places."""
    with ZipFile(BytesIO(content)) as archive:
        places = json.loads(archive.read("places.json"))
        return sorted((archive.read(place.pop("file")), json.dumps(place)) for place in places)


def test_an_account_that_is_exported_deleted_and_imported_is_the_same(
    engine: Engine, people: People, limits: Limits
) -> None:
    id = people.ann().id
    sent(engine, age=40 * DAY)
    sent(engine, age=2 * DAY)
    finished(engine, outcome="cancelled", at=now() - DAY)
    asked_for(engine, "every monday 9am", message_id="<week@x>", note="each week")
    a_snooze(
        engine,
        message_id="<any@x>",
        remind_at=now() + DAY,
        at_any_hour=True,
        reference="deal-7",
        reply_policy="cancel_on_reply",
    )
    a_snooze(engine, message_id="<paused@x>", remind_at=now() + DAY, inactive=True)
    for name in ("week", "any", "paused", "read", "done"):
        a_kept_message(engine, original=an_original(message_id=f"<{name}@x>", subject=f"Grüße {name}"))
    a_kept_message(engine, original=an_original().replace(b"Message-ID", b"X-Was-ID"))
    answer = an_original(message_id="<answer@x>").replace(b"\r\n\r\n", b"\r\nIn-Reply-To: <week@x>\r\n\r\n", 1)
    a_kept_message(engine, original=answer)
    with engine.begin() as connection:
        for name in ("week", "any", "paused"):
            mailbox_store.move(connection, user_email=ANN, message_id=f"<{name}@x>", folder="snoozed")
        connection.execute(text("UPDATE messages SET folder = 'snoozed' WHERE message_id = '<paused@x>'"))
        connection.execute(text("UPDATE messages SET unread = FALSE WHERE message_id = '<read@x>'"))
        mailbox_store.move(connection, user_email=ANN, message_id="<done@x>", folder="done")
        # Once it had no id of its own, and was snoozed by its substitute.
        row = connection.execute(text("SELECT message_id FROM messages WHERE message_id LIKE '%kept%'")).scalar()
    a_snooze(engine, message_id=str(row), remind_at=now() + 2 * DAY)
    chores.archive(engine, config=RETENTION)
    before, messages = exported(engine, "json"), exported(engine, "zip")

    with engine.begin() as connection:
        assert deletion.request(connection, account_id=id, deliver=False)
        connection.execute(text("UPDATE account_deletions SET due_at = now()"))
    for _ in range(5):
        erase_accounts(engine, settle=0 * HOUR)
    with engine.connect() as connection:
        for table in ("email_snoozes", "email_snoozes_archive", "messages", "accounts"):
            assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0, table  # noqa: S608
    people.ann()

    with engine.begin() as connection:
        importing.stage(connection, account=the_account(engine), reading=read_bytes(before))
    with engine.begin() as connection:
        importing.confirm(connection, account=the_account(engine), limits=limits, with_past=True)
    assert restored(engine, limits, messages) == Restored(new=7, known=0, refused=0)
    assert contents(exported(engine, "json")) == contents(before)
    assert kept(exported(engine, "zip")) == kept(messages)
    assert restored(engine, limits, messages) == Restored(new=0, known=7, refused=0)


def test_a_zip_of_other_origin_fills_the_inbox_and_leaves_out_what_is_no_message(
    engine: Engine, people: People, limits: Limits
) -> None:
    people.ann()
    places = [
        {"file": "b.eml", "folder": "trash", "unread": 7, "arrived_at": "9999-12-31T00:00:00+00:00", "message_id": ""},
        {"file": "c.eml", "folder": ["done"], "surfaced_at": "x"},
        "nothing",
    ]
    content = a_zip(
        a_eml=an_original(), b_eml=an_original(), c_eml=an_original(), d_eml=b"\x00 no message", e_txt=b"Subject: no",
        large_eml=b"Subject: large\r\n\r\n" + b"x" * LARGEST, places_json=json.dumps(places).encode(),
    )  # fmt: skip
    assert restored(engine, limits, content) == Restored(new=3, known=0, refused=2)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT DISTINCT folder, unread, arrived_at <= now() FROM messages")).all()
    assert [tuple(row) for row in rows] == [("inbox", True, True)]


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04",
        a_zip(a_eml=an_original())[:-30],
        a_zip(a_txt=b"Subject: no"),
        a_zip(a_eml=b"Subject: x\r\n\r\n" + b"x" * 5_000).replace(b"Subject", b"xxxxxxx"),
        a_zip(**{f"{number}_eml": b"Subject: x" for number in range(restoring.MAX_MESSAGES + 1)}),
        a_zip(a_eml=an_original()).replace(b"PK\x01\x02", b"PK\x01\x03"),
    ],
    ids=["begin", "cut", "empty", "kind", "many", "directory"],
)
def test_a_zip_that_cannot_be_read_keeps_nothing(
    engine: Engine, people: People, limits: Limits, content: bytes
) -> None:
    people.ann()
    damaged = content.replace(b"\x08\x00", b"\x63\x00") if b"a.eml" in content and len(content) < 400 else content
    with pytest.raises(NotAnExport):
        restored(engine, limits, damaged)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM messages")).scalar_one() == 0


def test_a_bomb_is_not_unpacked(
    engine: Engine, people: People, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.ann()
    monkeypatch.setattr(restoring, "MAX_BYTES", 3 * LARGEST)
    bomb = a_zip(**{f"{number}_eml": b"Subject: x\r\n\r\n" + b"0" * LARGEST * 5 for number in range(9)})
    assert len(bomb) < LARGEST
    with pytest.raises(NotAnExport):
        restored(engine, limits, bomb)
