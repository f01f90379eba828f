"""The lines for Postfix in the guide, as they stand there, in front of the UNIX socket of `snoozer inbound`."""

import re
import shutil
import smtplib
from pathlib import Path
from typing import Any

from sqlalchemy import text

from snoozer.people import addresses
from tests.conftest import missing
from tests.factories import People, an_original
from tests.process import postfix
from tests.process.conftest import TIMEOUT, Field, wait
from tests.process.postfix import Postfix, running

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "operators.md"
ANN, DOORS = "ann@example.org", "snooze.example.org"


def recipe() -> str:
    found = re.search(r"^```postfix\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    # The client is no neighbour, and time is short.
    return (
        re.sub(r"(?<=_time = )1m$", "2s", found[1], flags=re.MULTILINE)
        + "mynetworks = 192.0.2.1/32\naddress_verify_poll_delay = 1s\n"
    )


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
    with running(recipe(), chroot="y") as relay:
        folder = relay.home / "queue" / "snoozer"
        folder.mkdir(mode=0o2750)
        shutil.chown(folder, group="postfix")
        folder.chmod(0o2750)
        place.settings |= {"SNOOZER_INBOUND_SOCKET": str(folder / "lmtp"), "SNOOZER_INBOUND_DOMAIN": DOORS}
        assert reply(relay, ANN).startswith("450"), "nothing listens yet, which is no reason to refuse the address"
        inbound = place.start("inbound")
        wait((folder / "lmtp").is_socket)
        [key] = rows(place, "SELECT mail_key FROM accounts")
        for to in (f"postmaster@{DOORS}", f"3d+{key}@{DOORS}", f"abuse@{DOORS}"):
            assert reply(relay, to).startswith("250"), to
        wait(lambda: len(rows(place, "SELECT id FROM messages")) == 3)
        assert len(rows(place, "SELECT id FROM email_snoozes")) == 1
        for unknown in ("ben@example.org", f"3d+{key[:-1]}@{DOORS}"):
            assert reply(relay, unknown).startswith("550"), unknown
        inbound.kill()
        inbound.communicate(timeout=TIMEOUT)
        assert (folder / "lmtp").is_socket(), "a killed process leaves its socket"
        again = place.start("inbound")
        wait(lambda: reply(relay, "new@example.org").startswith("550"))
        with place.engine.begin() as connection:
            assert addresses.vouch(connection, account_id=ann.id, email="new@example.org")
        wait(lambda: reply(relay, "new@example.org").startswith("250"))
        wait(lambda: len(rows(place, "SELECT id FROM messages")) == 4)
        assert not list((relay.home / "data").glob("verify_cache*"))
        again.terminate()
        again.communicate(timeout=TIMEOUT)


def rows(place: Field, statement: str) -> list[Any]:
    with place.engine.connect() as connection:
        return list(connection.execute(text(statement)).scalars())
