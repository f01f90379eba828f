"""The flag that snoozes, chosen by the owner of a watched mailbox."""

from snoozer.db.mailboxes import Choices
from snoozer.mailboxes import registry
from tests.imap.watched import Place

STAR, KEYWORD = r"\Flagged", "$Snooze"
NOTED = "SELECT 1 FROM mailboxes WHERE flagged_noted_at IS NOT NULL"


def choose(place: Place, flag: str | None) -> None:
    """As its owner does on the page."""
    choices = Choices(snooze_flag=flag, snooze_flag_time="Next week" if flag else None)
    with place.engine.begin() as connection:
        assert registry.choose(connection, id=place.mailbox_id, account_id=place.person.id, choices=choices)
