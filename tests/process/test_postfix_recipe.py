"""The lines for Postfix in the guide, as they stand there, in front of the UNIX socket of `snoozer inbound`; and a rule
of a person that forwards their reminders to it."""

import re
import shutil
import smtplib
from pathlib import Path
from typing import Any

from sqlalchemy import text

from snoozer.people import addresses
from tests.conftest import missing
from tests.factories import People, a_kept_message, a_snooze, an_original
from tests.process import postfix
from tests.process.conftest import TIMEOUT, Field, wait
from tests.process.postfix import Postfix, running

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "operators.md"
ANN, HOME, DOORS = "ann@example.org", "ann@home.example", "snooze.example.org"


# The client is no neighbour, and time is short.
STRANGER = "mynetworks = 192.0.2.1/32\naddress_verify_poll_delay = 1s\n"


def recipe() -> str:
    found = re.search(r"^```postfix\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return re.sub(r"(?<=_time = )1m$", "2s", found[1], flags=re.MULTILINE)


def open_door(place: Field, relay: Postfix) -> Path:
    """Set the socket in the folder of the guide; returns its path."""
    folder = relay.home / "queue" / "snoozer"
    folder.mkdir()
    shutil.chown(folder, group="postfix")
    folder.chmod(0o2750)
    place.settings |= {"SNOOZER_INBOUND_SOCKET": str(folder / "lmtp"), "SNOOZER_INBOUND_DOMAIN": DOORS}
    return folder / "lmtp"


def reply(relay: Postfix, to: str) -> str:
    """The reply to this recipient, once Postfix has asked; a mail is sent to it if it is accepted."""
    found = ""

    def is_known() -> bool:
        nonlocal found
        with smtplib.SMTP("127.0.0.1", relay.port, local_hostname="test.example") as client:
            client.ehlo()
            client.mail("ben@mail.example")
            code, words = client.rcpt(to)
            found = f"{code} {words.decode()}"
            if code == 250:
                client.data(an_original())
        return "in progress" not in found

    wait(is_known)
    return found


def test_the_recipe_of_the_guide_delivers_by_the_socket(place: Field, people: People) -> None:
    if postfix.program() is None:
        missing("Postfix")
    ann = people.ann(ANN, role="admin")
    with running(recipe() + STRANGER, chroot="y") as relay:
        path = open_door(place, relay)
        assert reply(relay, ANN).startswith("450"), "nothing listens yet, which is no reason to refuse the address"
        inbound = place.start("inbound")
        wait(path.is_socket)
        [key] = rows(place, "SELECT mail_key FROM accounts")
        for to in (f"postmaster@{DOORS}", f"3d+{key}@{DOORS}", f"abuse@{DOORS}"):
            assert reply(relay, to).startswith("250"), to
        wait(lambda: len(rows(place, "SELECT id FROM messages")) == 3)
        assert len(rows(place, "SELECT id FROM email_snoozes")) == 1
        for unknown in ("ben@example.org", f"3d+{key[:-1]}@{DOORS}"):
            assert reply(relay, unknown).startswith("550"), unknown
        inbound.kill()
        inbound.communicate(timeout=TIMEOUT)
        assert path.is_socket(), "a killed process leaves its socket"
        again = place.start("inbound")
        wait(lambda: reply(relay, "new@example.org").startswith("550"))
        with place.engine.begin() as connection:
            assert addresses.vouch(connection, account_id=ann.id, email="new@example.org")
        wait(lambda: reply(relay, "new@example.org").startswith("250"))
        wait(lambda: len(rows(place, "SELECT id FROM messages")) == 4)
        assert not list((relay.home / "data").glob("verify_cache*"))
        again.terminate()
        again.communicate(timeout=TIMEOUT)


def test_a_reminder_that_a_rule_forwards_to_the_door_is_no_new_mail(place: Field, people: People) -> None:
    if postfix.program() is None:
        missing("Postfix")
    ann = people.ann(ANN)
    with place.engine.begin() as connection:
        assert addresses.vouch(connection, account_id=ann.id, email=HOME)
        assert addresses.choose(connection, account_id=ann.id, email=HOME)
    [key] = rows(place, "SELECT mail_key FROM accounts")
    forwards = f"virtual_alias_maps = inline:{{ {{ {HOME} = {ANN}, 3d+{key}@{DOORS} }} }}\n"
    with running(f"{recipe()}virtual_alias_domains = home.example\n{forwards}", chroot="y") as relay:
        place.settings["SMTP_URL"] = f"smtp://127.0.0.1:{relay.port}"
        path = open_door(place, relay)
        processes = [place.start("inbound"), place.start("worker")]
        wait(path.is_socket)
        a_kept_message(place.engine, user_email=ANN, message_id="<kept@mail.example>")
        ids = [a_snooze(place.engine, user_email=ANN, message_id=f"<{name}@mail.example>") for name in ("kept", "else")]
        wait(lambda: all(map(place.is_sent, ids)) and len(rows(place, "SELECT id FROM messages")) == 4)
        wait(relay.is_empty)
        assert rows(place, "SELECT message_id FROM messages WHERE folder <> 'reminders' ORDER BY id") == [
            "<kept@mail.example>",
            # A message that is not kept is represented by its reminder.
            "<else@mail.example>",
        ]
        paths = rows(place, "SELECT return_path FROM messages WHERE message_id <> '<kept@mail.example>'")
        assert all(path.startswith("b+") for path in paths)
        assert rows(place, "SELECT DISTINCT recipient FROM reminder_sends WHERE channel = 'email'") == [HOME]
        assert len(rows(place, "SELECT id FROM email_snoozes")) == len(ids)
        assert rows(place, "SELECT id FROM mail_acts") == []
        for process in processes:
            process.terminate()
            process.communicate(timeout=TIMEOUT)


def rows(place: Field, statement: str) -> list[Any]:
    with place.engine.connect() as connection:
        return list(connection.execute(text(statement)).scalars())
