"""A mail to an address that names a time is snoozed: once, for the person of the key or for a proven sender."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import Engine

from snoozer.mail.authentication_results import proven_sender
from snoozer.mail.structure import split_head
from snoozer.mailboxes.inbound import addresses
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.factories import ANN, People, an_original, now
from tests.mail.answers import MACHINES
from tests.mail_doors import AUTHSERV_ID, DOMAIN, MailDoors, a_mail, mail_doors, text_of

PASS = "dmarc=pass header.from=snoozer.example"
RESULTS = f"Authentication-Results: {AUTHSERV_ID};"
PASSES = f"{RESULTS} spf=pass smtp.mailfrom=x; dmarc=pass (p=none) header.from="
PROOF = f"{PASSES}snoozer.example"


@pytest.fixture
def doors(engine: Engine, settings: Settings, people: People) -> Iterator[MailDoors]:
    people.ann(zone="Europe/Berlin")
    with mail_doors(engine, settings) as doors:
        yield doors


def key(doors: MailDoors) -> str:
    [(found,)] = doors.rows("SELECT mail_key FROM accounts ORDER BY id LIMIT 1")
    return str(found)


def snoozes(doors: MailDoors) -> list[tuple[str, timedelta]]:
    rows = doors.rows("SELECT subject, remind_at FROM email_snoozes WHERE outcome IS NULL ORDER BY id")
    return [(row.subject, row.remind_at - now()) for row in rows]


def forwarded(*originals: bytes, to: str = f"3d@{DOMAIN}") -> bytes:
    parts = b"".join(b"--b\r\nContent-Type: message/rfc822\r\n\r\n" + one + b"\r\n" for one in originals)
    head = f'From: {ANN}\r\nTo: {to}\r\nSubject: Fwd\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n'
    return head.encode() + b"--b\r\nContent-Type: text/plain\r\n\r\nSee below\r\n" + parts + b"--b--\r\n"


@pytest.mark.parametrize(
    ("phrase", "days"),
    [("3d", 3), ("in-3-days", 3), ("3D", 3), ("3_days", 3), ("2.weeks", 14), ("2-wochen", 14)],
)
def test_a_mail_with_the_key_is_snoozed_once(doors: MailDoors, phrase: str, days: int) -> None:
    address = f"{phrase}+{key(doors)}@{DOMAIN}"
    original = an_original(subject="Note to self")
    for to in (address, address, address.upper()):
        assert doors.deliver(original, to) == ["250 2.0.0 Kept"]
    [(subject, ahead)] = snoozes(doors)
    assert subject == "Note to self"
    assert abs(ahead - timedelta(days=days)) < timedelta(hours=3)
    [(kept, folder)] = doors.rows("SELECT original, folder FROM messages JOIN message_originals USING (id)")
    assert (bytes(kept), folder) == (original, "snoozed")
    assert doors.events() == [("asked", "address")]
    [answer] = doors.answers()
    content = text_of(answer)
    assert "Snoozed: " in content
    assert "Note to self" in content
    assert answer["Subject"] == "Re: Note to self"
    assert "https://snoozer.example/snoozes/" in content
    assert doors.deliver(a_mail("undo"), answer["Reply-To"]) == ["250 2.0.0 Kept"]
    assert snoozes(doors) == []


@pytest.mark.parametrize(
    "phrase", ["tomorrow8am", "mon930am", "every-monday", "morgen8uhr", "jeden-montag", "next-week", "2030-03-09"]
)
def test_times_in_both_languages_are_understood(doors: MailDoors, phrase: str) -> None:
    assert doors.deliver(an_original(), f"{phrase}+{key(doors)}@{DOMAIN}") == ["250 2.0.0 Kept"]
    assert len(snoozes(doors)) == 1
    [(recurrence,)] = doors.rows("SELECT recurrence FROM email_snoozes")
    assert (recurrence is not None) is phrase.startswith(("every", "jeden"))


def test_attached_messages_come_back_byte_for_byte(doors: MailDoors) -> None:
    originals = [an_original(subject="First", body="a\r\n\r\n"), an_original(subject="Second", body="\xe4\r\n")]
    assert doors.deliver(forwarded(*originals), f"3d+{key(doors)}@{DOMAIN}") == ["250 2.0.0 Kept"]
    kept = doors.rows("SELECT original FROM message_originals ORDER BY id")
    assert [bytes(row.original) for row in kept] == originals
    assert sorted(subject for subject, _ in snoozes(doors)) == ["First", "Second"]


def test_of_a_mail_to_another_person_the_mail_itself_comes_back(doors: MailDoors) -> None:
    mail = forwarded(an_original(subject="Inside"), to="ben@mail.example")
    assert doors.deliver(mail, f"3d+{key(doors)}@{DOMAIN}") == ["250 2.0.0 Kept"]
    assert [subject for subject, _ in snoozes(doors)] == ["Fwd"]


def test_a_message_that_is_kept_already_is_snoozed_in_its_place(doors: MailDoors) -> None:
    original = an_original(subject="Twice")
    again = b"Delivered-To: x\r\n" + original
    for one in (original, again):
        assert doors.deliver(one, f"3d+{key(doors)}@{DOMAIN}") == ["250 2.0.0 Kept"]
    assert len(doors.rows("SELECT id FROM messages")) == 1
    assert len(snoozes(doors)) == 1


def test_an_address_without_a_time_is_answered_five_times_an_hour(doors: MailDoors) -> None:
    for number in range(8):
        assert doors.deliver(an_original(), f"blue{number}+{key(doors)}@{DOMAIN}") == ["250 2.0.0 Kept"]
    answers = [text_of(answer) for answer in doors.answers()]
    assert len(answers) == 5
    suggested = re.findall(rf"\S+\+{key(doors)}@{DOMAIN}", answers[0].replace("\u200c", ""))
    assert suggested
    for address in suggested:
        assert doors.deliver(an_original(), address) == ["250 2.0.0 Kept"]
    assert len(snoozes(doors)) == len(suggested)


def test_machines_do_nothing(doors: MailDoors) -> None:
    for fields in MACHINES.values():
        lines = [f"{name}: {value}" for name, value in ({"From": ANN} | fields).items()]
        mail = "\r\n".join([*lines, "", "x", ""]).encode()
        assert doors.deliver(mail, f"3d+{key(doors)}@{DOMAIN}") == ["250 2.0.0 Kept"]
    assert doors.deliver(an_original(), f"3d+{key(doors)}@{DOMAIN}", mail_from="") == ["250 2.0.0 Kept"]
    assert (snoozes(doors), doors.answers(), doors.rows("SELECT id FROM messages")) == ([], [], [])


@pytest.mark.parametrize("field", ["In-Reply-To", "References"])
def test_the_answer_to_an_answer_of_any_snoozer_does_nothing(doors: MailDoors, field: str) -> None:
    """It is an autoresponder's, also if it says nothing of being one: people's answers go to another address."""
    mail = a_mail("We have your mail", fields=[f"{field}: <answer.7.1772784000@other.example>"])
    assert doors.deliver(mail, f"3d+{key(doors)}@{DOMAIN}") == ["250 2.0.0 Kept"]
    assert (snoozes(doors), doors.answers(), doors.rows("SELECT id FROM messages")) == ([], [], [])
    assert doors.deliver(an_original(), f"3d+{key(doors)}@{DOMAIN}") == ["250 2.0.0 Kept"]
    [answer] = doors.answers()
    assert doors.deliver(a_mail("x", fields=[f"{field}: {answer['Message-ID']}"]), f"3d+{key(doors)}@{DOMAIN}")
    assert (len(snoozes(doors)), doors.answers()) == (1, [])


@pytest.mark.parametrize(
    "fields",
    [
        [PROOF],
        [PROOF.replace(AUTHSERV_ID, f"{AUTHSERV_ID.upper()} 1")],
        [PROOF, PROOF.replace("dmarc=pass", "dmarc=fail")],
        ["Authentication-Results: other.example; dmarc=fail header.from=snoozer.example", PROOF],
        [PROOF.replace("snoozer.example", "Snoozer.Example")],
    ],
)
def test_without_a_key_the_mail_server_proves_the_sender(doors: MailDoors, fields: list[str]) -> None:
    mail = a_mail("x", fields=fields, sender=f"Ann <{ANN.upper()}>")
    assert doors.deliver(mail, f"3d@{DOMAIN}") == ["250 2.0.0 Kept"]
    assert len(snoozes(doors)) == 1


FORGED: dict[str, tuple[list[str], str]] = {
    "nothing": ([], ANN),
    "a failure": ([PROOF.replace("dmarc=pass", "dmarc=fail")], ANN),
    "none": ([PROOF.replace("dmarc=pass", "dmarc=none")], ANN),
    "a temporary error": ([PROOF.replace("dmarc=pass", "dmarc=temperror")], ANN),
    "a best guess": ([PROOF.replace("dmarc=pass", "dmarc=bestguesspass")], ANN),
    "passes": ([PROOF.replace("dmarc=pass", "dmarc=passes")], ANN),
    "another host": ([PROOF.replace(AUTHSERV_ID, "mx.attacker.example")], ANN),
    "a longer host": ([PROOF.replace(AUTHSERV_ID, f"{AUTHSERV_ID}.attacker.example")], ANN),
    "a shorter host": ([PROOF.replace(AUTHSERV_ID, AUTHSERV_ID[1:])], ANN),
    "no host": ([PROOF.replace(f"{AUTHSERV_ID}; ", "")], ANN),
    "the host in a comment": ([PROOF.replace(AUTHSERV_ID, f"x.example ({AUTHSERV_ID})")], ANN),
    "a pass under a failure": ([PROOF.replace("dmarc=pass", "dmarc=fail"), PROOF], ANN),
    "a pass under a field without DMARC": ([f"{RESULTS} spf=pass", PROOF], ANN),
    "a pass under an open comment": ([f"{RESULTS} dmarc=fail header.from=snoozer.example x=(", PROOF], ANN),
    "a pass under a quoted host": (
        [PROOF.replace(AUTHSERV_ID, f'"{AUTHSERV_ID}"').replace("pass", "fail"), PROOF],
        ANN,
    ),
    "a pass under a host with a slash": ([PROOF.replace(AUTHSERV_ID, f"{AUTHSERV_ID}/1"), PROOF], ANN),
    "a pass under none": ([f"{RESULTS} none", PROOF], ANN),
    "SPF and DKIM": ([f"{RESULTS} spf=pass; dkim=pass header.d=snoozer.example"], ANN),
    "a comment": ([f"{RESULTS} spf=fail (; {PASS})"], ANN),
    "a nested comment": (
        [f"{RESULTS} spf=fail ((x); {PASS})"],
        ANN,
    ),
    "an open comment": (
        [f"{RESULTS} spf=fail (; {PASS}"],
        ANN,
    ),
    "quotes": (
        [f'{RESULTS} spf=fail smtp.mailfrom="; {PASS}"'],
        ANN,
    ),
    "an open quote": (
        [f'{RESULTS} spf=fail x="; {PASS}'],
        ANN,
    ),
    "a quote in a comment": (
        [f'{RESULTS} spf=fail (a " b) x="; {PASS}" (c " d); dmarc=fail header.from=snoozer.example'],
        ANN,
    ),
    "a closed comment that was not open": ([f"{RESULTS} spf=fail ) (; {PASS}"], ANN),
    "both results": ([f"{PROOF}; dmarc=fail header.from=snoozer.example"], ANN),
    "both results, the pass second": ([PROOF.replace("spf=pass", "dmarc=fail header.from=snoozer.example")], ANN),
    "another domain": ([f"{PASSES}attacker.example"], ANN),
    "a subdomain": ([f"{PASSES}x.snoozer.example"], ANN),
    "no domain": ([PASSES.removesuffix("header.from=")], ANN),
    "two domains": ([f"{PASSES}snoozer.example header.from=attacker.example"], ANN),
    "another field": ([PROOF.replace("Authentication-Results", "X-Authentication-Results")], ANN),
    "ARC": ([PROOF.replace("Authentication-Results", "ARC-Authentication-Results")], ANN),
    "another sender": ([PROOF], "mallory@snoozer.example"),
    "a name like an address": ([PROOF], f'"{ANN}" <mallory@snoozer.example>'),
    "two senders": ([PROOF], f"mallory@snoozer.example, {ANN}"),
    "two senders, hers first": ([PROOF], f"{ANN}, mallory@snoozer.example"),
    "two fields": ([PROOF, f"From: {ANN}"], "mallory@snoozer.example"),
    "two equal fields": ([PROOF, f"From: {ANN}"], ANN),
    "a group": ([PROOF], f"x: {ANN}, b@snoozer.example;"),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_mail_leaves_no_row_and_gets_no_answer(doors: MailDoors, how: str) -> None:
    fields, sender = FORGED[how]
    [reply] = doors.deliver(a_mail("x", fields=fields, sender=sender), f"3d@{DOMAIN}")
    assert reply.startswith("550 5.7.1 ")
    assert all(not doors.rows(f"SELECT 1 FROM {name}") for name in ("mail_acts", "messages", "email_snoozes"))  # noqa: S608
    assert doors.answers() == []


@pytest.mark.parametrize(("local_part", "is_proven"), [("kay", True), ("Kay", True), ("\u212aay", False), ("ä", False)])
def test_an_address_that_is_another_ones_in_lower_case_is_not_proven(local_part: str, is_proven: bool) -> None:
    head, _ = split_head(a_mail("x", fields=[PROOF], sender=f"Kay <{local_part}@snoozer.example>"))
    proven = proven_sender(head, authserv_id=AUTHSERV_ID)
    assert proven == ("kay@snoozer.example" if is_proven else None)


def test_attached_messages_count_one_by_one_and_a_mail_that_comes_again_does_not(
    engine: Engine, settings: Settings, people: People
) -> None:
    people.ann()
    with mail_doors(engine, settings, snoozes_per_day=3) as doors:
        to = f"3d+{key(doors)}@{DOMAIN}"
        two, other = (
            forwarded(*(an_original(message_id=f"<{n}@x.example>") for n in each)) for each in ((1, 2), (3, 4))
        )
        assert [doors.deliver(mail, to)[0][:3] for mail in (two, two, other)] == ["250", "250", "452"]
        assert len(snoozes(doors)) == 2
        assert doors.deliver(an_original(message_id="<5@x.example>"), to)[0][:3] == "250"
        assert len(snoozes(doors)) == 3


def test_a_defect_of_one_door_refuses_no_other_recipient(
    doors: MailDoors, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses.AddressDoor, "act", lambda *given: 1 // 0)
    replies = doors.deliver(an_original(), ANN, f"3d+{key(doors)}@{DOMAIN}")
    assert [reply[:3] for reply in replies] == ["250", "451"]
    assert len(doors.rows("SELECT 1 FROM messages")) == 1
    assert doors.rows("SELECT 1 FROM mail_acts") == []


def test_unknown_addresses_are_refused_at_once(doors: MailDoors, engine: Engine, settings: Settings) -> None:
    good = key(doors)
    mail = a_mail("x", fields=[PROOF])
    for one in ("3d+", f"3d+{good[:-1]}", f"3d+{good}x", f"+{good}", "blue", "postmaster", "info", "x" * 60):
        assert doors.deliver(mail, f"{one}@{DOMAIN}")[0].startswith("550 5.1.1 "), one
    assert doors.deliver(mail, f"3d+{good}@mail.example")[0].startswith("550 5.1.1 ")
    with mail_doors(engine, settings, authserv_id="") as without:
        assert without.deliver(mail, f"3d@{DOMAIN}")[0].startswith("550 5.1.1 ")
        forged = a_mail("x", fields=[f"Authentication-Results: ; {PASS}"])
        assert without.deliver(forged, f"3d@{DOMAIN}")[0].startswith("550 5.1.1 ")
    with doors.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE accounts SET disabled_at = now()")
    assert doors.deliver(mail, f"3d+{good}@{DOMAIN}")[0].startswith("550 5.1.1 ")
    assert doors.deliver(mail, f"3d@{DOMAIN}")[0].startswith("550 5.7.1 ")
    assert snoozes(doors) == []


def a_site(engine: Engine, settings: Settings, *, domain: str) -> Flask:
    app = create_app(engine=engine, settings=settings.model_copy(update={"inbound_domain": domain}))
    app.config["WTF_CSRF_ENABLED"] = False
    return app


def test_the_settings_show_the_addresses_and_change_them(engine: Engine, settings: Settings, people: People) -> None:
    client = a_site(engine, settings, domain=DOMAIN).test_client()
    client.set_cookie("snoozer_session", people.ann().session)
    with mail_doors(engine, settings) as doors:
        card = client.get("/settings/addresses.vcf")
        assert card.mimetype == "text/vcard"
        listed = re.findall(r"^EMAIL:(.+)$", card.text.replace("\r\n", "\n"), re.MULTILINE)
        page = client.get("/settings").text
        assert len(listed) == 5
        for address in listed:
            assert address in page
            assert doors.deliver(an_original(), address) == ["250 2.0.0 Kept"]
        assert len(snoozes(doors)) == 5
        assert client.get("/settings/addresses").status_code == 405
        assert client.get("/settings/addresses.vcf").text == card.text
        changed = client.post("/settings/addresses", follow_redirects=True).text
        for address in listed:
            assert address not in changed
            assert doors.deliver(an_original(), address)[0].startswith("550 ")


def test_without_a_domain_the_settings_show_none(engine: Engine, settings: Settings, people: People) -> None:
    client = a_site(engine, settings, domain="").test_client()
    client.set_cookie("snoozer_session", people.ann().session)
    assert client.get("/settings/addresses.vcf").status_code == 404
    assert "addresses.vcf" not in client.get("/settings").text
