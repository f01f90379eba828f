"""What machines send never counts as an answer, and what people send always does."""

import re
from time import process_time

import pytest

from snoozer.mail import automatic
from snoozer.mail.message_parser import REPLY_FIELDS, parse_reply
from tests.mail.answers import MACHINES, PEOPLE, an_answer


def fetched(original: bytes) -> bytes:
    """The header as a connected mailbox sends it: the fields that are asked for, and no others."""
    head = original.partition(b"\r\n\r\n")[0].split(b"\r\n")
    asked = {name.encode() for name in REPLY_FIELDS}
    return b"".join(line + b"\r\n" for line in head if line.partition(b":")[0].lower() in asked) + b"\r\n"


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_s_answer_is_known_as_one(name: str) -> None:
    original = an_answer(MACHINES[name])
    assert parse_reply(original).automatic
    assert parse_reply(fetched(original)).automatic


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_s_answer_is_known_as_one(name: str) -> None:
    original = an_answer(PEOPLE[name])
    for each in (original, fetched(original)):
        head = parse_reply(each)
        assert (head.automatic, head.answers) == (False, ("<asked@mail.example>",))
        assert head.sender_email


def test_an_envelope_without_a_sender_is_a_machine_s() -> None:
    assert parse_reply(an_answer({}), has_null_sender=True).automatic


@pytest.mark.parametrize("value", ["auto-replied", "no"])
def test_each_of_several_fields_of_one_name_counts(value: str) -> None:
    twice = an_answer({"Auto-Submitted": f"no\r\nAuto-Submitted: {value}"})
    assert parse_reply(twice).automatic is (value != "no")


def test_a_mail_server_takes_the_names_of_the_fields() -> None:
    """They stand in one line of a command."""
    assert all(re.fullmatch("[a-z-]+", name) for name in automatic.FIELDS)
    assert len(" ".join(REPLY_FIELDS)) < 1_000


@pytest.mark.parametrize("text", ["(" * 8_000, "[a] " * 2_000, "A. " * 2_500, "out of office " * 500, "* a *" * 1_500])
def test_a_field_of_any_length_is_read_at_once(text: str) -> None:
    begin = process_time()
    parse_reply(an_answer(dict.fromkeys(("Subject", "Auto-Submitted", "Return-Path", "X-Mailer", "From"), text)))
    assert process_time() - begin < 0.2
