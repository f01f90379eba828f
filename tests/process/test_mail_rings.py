"""Two instances send mail to people who have accounts at both, and whose addresses forward it to the other instance and
answer it. Each start of such a ring makes two mails at most.

SNOOZER_STORM=1 lets the rings run for five minutes; otherwise they run until nothing is left to do.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from sqlalchemy import Engine, text

from snoozer.db import schema
from tests.factories import People, a_snooze
from tests.imap import server_process
from tests.mail_doors import a_mail
from tests.process.conftest import TIMEOUT, Field, Sink, wait
from tests.process.post_office import (
    AUTHSERV_ID,
    PEOPLE,
    AnswersTo,
    Letter,
    Manner,
    PostOffice,
    Resident,
    inbound_domain,
)

SECONDS = 300.0 if os.environ.get("SNOOZER_STORM") == "1" else 0.0
MOST = 2
Start = Literal["mail", "reminder"]
HAS_WORK = text(
    "SELECT EXISTS (SELECT FROM mail_acts WHERE due_at IS NOT NULL) OR EXISTS "
    "(SELECT FROM email_snoozes WHERE NOT inactive AND (claimed_at IS NOT NULL OR remind_at <= now()))"
)
MAIL_KEY = text("SELECT mail_key FROM accounts WHERE email = :email")


@dataclass(frozen=True)
class Ring:
    """The address and the manner of the autoresponder's answers, the forwarder's sender of the envelope, the start."""

    answers_to: AnswersTo
    manner: Manner
    keeps_sender: bool
    start: Start


# Left out: a mute autoresponder with another address than Reply-To ends at the limit of 60 answers an hour.
HOW: tuple[tuple[AnswersTo, Manner], ...] = (
    *(("Reply-To", "signed"), ("Reply-To", "threaded"), ("Reply-To", "mute")),
    *(("From", "signed"), ("From", "threaded")),
    *(("envelope", "signed"), ("envelope", "threaded")),
)
STARTS: tuple[Start, ...] = ("mail", "reminder")
RINGS = [Ring(*how, keeps_sender, start) for how in HOW for keeps_sender in (True, False) for start in STARTS]


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with PostOffice({name: server_process.free_port() for name in ("a", "b")}) as office:
        yield office


@pytest.fixture
def places(engine: Engine, empty_database: Engine, office: PostOffice, tmp_path: Path) -> Iterator[dict[str, Field]]:
    schema.upgrade(empty_database)
    engines = {"a": engine, "b": empty_database}
    places = {
        name: Field(
            engine=engines[name],
            sink=Sink(port=office.port(name), path=tmp_path / name),
            home=tmp_path / f"home-{name}",
            settings={
                "SECRET_KEY": f"a-key-of-instance-{name}-of-enough-length",
                "MAIL_FROM": f"Snoozer <snoozer@{name}.example>",
                "BASE_URL": f"http://{name}.example",
                "SNOOZER_INBOUND_DOMAIN": inbound_domain(name),
                "SNOOZER_INBOUND_PORT": str(port),
                "SNOOZER_AUTHSERV_ID": AUTHSERV_ID,
            },
        )
        for name, port in office.inbound_ports.items()
    }
    yield places
    for place in places.values():
        place.end()


def test_no_ring_of_two_instances_a_forwarder_and_an_autoresponder_makes_a_third_mail(
    places: dict[str, Field], office: PostOffice
) -> None:
    people = {ring: a_resident(f"ann{number}@{PEOPLE}", ring, places) for number, ring in enumerate(RINGS)}
    office.house(list(people.values()))
    processes = [place.start(command) for place in places.values() for command in ("inbound", "worker")]
    for process in processes[::2]:
        assert process.stderr is not None
        assert "taking mail" in process.stderr.readline()
    for ring, person in people.items():
        begin(ring, person, office, places["a"])

    def are_too_many() -> bool:
        return any(count > MOST for count in office.sent.values())

    def is_quiet() -> bool:
        """Work comes from mail and from rows: there is none, and no mail came while that was found."""
        posted = office.posted
        is_over = office.is_empty() and not any(has_work(place) for place in places.values())
        return is_over and office.posted == posted

    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends and not are_too_many():
        time.sleep(1)
    wait(lambda: are_too_many() or is_quiet())
    for process in processes:
        process.terminate()
        process.communicate(timeout=TIMEOUT)
    made = {ring: office.sent[person.address] for ring, person in people.items()}
    assert [(ring, count) for ring, count in made.items() if not 1 <= count <= MOST] == []
    # Each ring was closed: every mail was forwarded and answered, and some answers were answered.
    assert office.forwarded == office.answered == office.sent
    assert office.refused == []
    assert {made[ring] for ring in RINGS if ring.answers_to == "Reply-To" and ring.manner != "signed"} == {MOST}


def a_resident(address: str, ring: Ring, places: dict[str, Field]) -> Resident:
    """A person with accounts at all places."""
    keys = {}
    for name, place in places.items():
        People(place.engine).ann(address)
        with place.engine.connect() as connection:
            keys[name] = str(connection.execute(MAIL_KEY, {"email": address}).scalar_one())
    return Resident(
        address=address, answers_to=ring.answers_to, manner=ring.manner, keeps_sender=ring.keeps_sender, keys=keys
    )


def begin(ring: Ring, person: Resident, office: PostOffice, place: Field) -> None:
    """Have the first instance send a mail to this person."""
    if ring.start == "reminder":
        a_snooze(place.engine, user_email=person.address)
        return
    to = f"3d+{person.keys['a']}@{inbound_domain('a')}"
    mail = a_mail("Have a look.", sender=person.address)
    office.post(Letter(mail_from=person.address, to=to, content=mail))


def has_work(place: Field) -> bool:
    with place.engine.connect() as connection:
        return bool(connection.execute(HAS_WORK).scalar_one())
