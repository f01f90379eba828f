"""What is compared after a failover is on trial, too: each kind is planted once, and must be found."""

from pathlib import Path

from tests.chaos.storm.evidence import Entry, Evidence, Mail
from tests.chaos.storm.forgotten import Aftermath, Lag, asked_within, compare, mailed_after
from tests.chaos.storm.history import History
from tests.chaos.storm.wishes import Asked, Wish

ANN = "ann@snoozer.example"
LAG = Lag(since=100.0, killed=103.0, promoted=104.0)
NOTHING: frozenset[str] = frozenset()
THIS = frozenset({"<a>"})


def found(
    *mails: Mail, asked: bool = True, entry: Entry | None = None
) -> tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str], frozenset[str]]:
    """repeated, marked, differing, gone, stuck"""
    wish = Wish(number=0, due=1.0, asked_at=0.0, answered_at=0.0 if asked else None, answer="done" if asked else None)
    snooze = Asked(user_email=ANN, message_id="<a>", wishes=(wish,))
    aftermath: Aftermath = compare(Evidence(asked=[snooze], mails=list(mails), entries=[entry] if entry else []))
    return aftermath.repeated, aftermath.marked, aftermath.differing, aftermath.gone, aftermath.stuck


def mail(*, sha256: str = "aa", at: float = 1.0) -> Mail:
    return Mail(at=at, rcpt=ANN, in_reply_to="<a>", message_id="<reminder-a>", sha256=sha256, read_at=at)


def entry(*events: str) -> Entry:
    return Entry(user_email=ANN, message_id="<a>", outcome="sent", state="sent", events=events)


def test_one_mail_is_nothing_to_report_also_where_its_row_is_gone() -> None:
    assert found(mail(), entry=entry()) == found(mail()) == (NOTHING,) * 5


def test_a_second_copy_is_found_and_whether_it_is_marked() -> None:
    repeated = frozenset({"<reminder-a>"})
    assert found(mail(), mail(), entry=entry()) == (repeated, NOTHING, NOTHING, NOTHING, NOTHING)
    assert found(mail(), mail(), entry=entry("uncertain")) == (repeated, repeated, NOTHING, NOTHING, NOTHING)
    assert found(mail(), mail(), mail(), entry=entry("uncertain"))[1] == NOTHING


def test_copies_that_differ_in_a_byte_are_found() -> None:
    assert found(mail(), mail(sha256="ab"), entry=entry("uncertain"))[2] == THIS


def test_a_row_that_is_gone_is_not_one_that_waits() -> None:
    assert found()[3:] == (THIS, NOTHING)
    assert found(entry=entry())[3:] == (NOTHING, THIS)
    assert found(asked=False) == (NOTHING,) * 5


def test_what_was_asked_for_and_mailed_at_that_time_is_found(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    for message_id, at in (("<early>", 90.0), ("<within>", 102.0), ("<late>", 110.0)):
        history.write("attempt", message_id=message_id, at=at)
    history.close()
    assert asked_within(LAG, log=history.path) == {"<within>"}
    assert mailed_after(100.0, sink=history.path) == {"<within>", "<late>"}
