"""Mail to an address with a detail is its person's, and mail to the operator's addresses is kept for an admin."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from snoozer.people import addresses
from snoozer.settings import Settings
from tests.factories import ANN, People, an_original
from tests.mail.reports import REPORTS
from tests.mail_doors import DOMAIN, MailDoors, mail_doors

KEPT = ["250 2.0.0 Kept"]
UNKNOWN = "550 5.1.1"
ADMIN = "root@snoozer.example"


@pytest.fixture
def doors(engine: Engine, settings: Settings, people: People) -> Iterator[MailDoors]:
    people.ann()
    with mail_doors(engine, settings, inbound_separator="+") as doors:
        yield doors


def owners(doors: MailDoors) -> list[str]:
    return [row.user_email for row in doors.rows("SELECT user_email FROM messages ORDER BY id")]


@pytest.mark.parametrize("detail", ["+lists", "+", "+a+b", "+LISTS", "+tomorrow"])
def test_an_address_with_a_detail_is_the_person_s(doors: MailDoors, detail: str) -> None:
    assert doors.deliver(an_original(), ANN.replace("@", f"{detail}@")) == KEPT
    assert owners(doors) == [ANN]


@pytest.mark.parametrize("address", [f"+{ANN}", f"ben+{ANN}", ANN.replace("@", "-lists@")])
def test_a_detail_makes_no_address(doors: MailDoors, address: str) -> None:
    assert doors.deliver(an_original(), address)[0].startswith(UNKNOWN)


def test_without_the_setting_a_detail_is_another_address(engine: Engine, settings: Settings, people: People) -> None:
    people.ann()
    with mail_doors(engine, settings) as doors:
        assert doors.deliver(an_original(), ANN.replace("@", "+lists@"))[0].startswith(UNKNOWN)


def test_an_address_that_was_added_comes_before_a_detail(doors: MailDoors, people: People) -> None:
    ben = people.ann("ben@snoozer.example")
    added = ANN.replace("@", "+ben@")
    with doors.engine.begin() as connection:
        assert addresses.vouch(connection, account_id=ben.id, email=added)
    assert doors.deliver(an_original(), added) == KEPT
    assert owners(doors) == ["ben@snoozer.example"]


@pytest.mark.parametrize(
    "to", [f"postmaster@{DOMAIN}", f"PostMaster@{DOMAIN.upper()}", f"abuse@{DOMAIN}", "Postmaster"]
)
def test_mail_to_the_operator_is_kept_for_the_first_admin(doors: MailDoors, people: People, to: str) -> None:
    assert doors.deliver(an_original(), to)[0].startswith(UNKNOWN), "there is no admin yet"
    for email in (ADMIN, "second@snoozer.example"):
        people.ann(email, role="admin")
    assert doors.deliver(an_original(), to) == KEPT
    bounce = REPORTS["Postfix, no such user"].mail
    assert doors.deliver(bounce, to, mail_from="") == KEPT
    assert owners(doors) == [ADMIN, ADMIN]
    assert (doors.answers(), doors.rows("SELECT id FROM mail_acts")) == ([], [])


def test_postmaster_of_another_domain_is_no_address_here(doors: MailDoors, people: People) -> None:
    people.ann(ADMIN, role="admin")
    assert doors.deliver(an_original(), "postmaster@snoozer.example")[0].startswith(UNKNOWN)
