"""The primary is lost behind pgbouncer while a mailbox is watched: messages that are moved then are snoozed, too."""

import secrets

from pydantic import SecretStr

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from snoozer.settings import Settings
from tests.chaos.storm.conftest import pair
from tests.chaos.storm.ground import create_database
from tests.chaos.storm.pooler import a_pooler
from tests.chaos.storm.replication import Pair
from tests.factories import People, an_original
from tests.imap.mailboxes import MailServer
from tests.imap.watched import returned, watched

__all__ = ["pair"]


def test_a_primary_is_lost_behind_a_pooler(pair: Pair, settings: Settings, mail_server: MailServer) -> None:
    pair.make_whole(synchronous=True)
    name = f"mailbox_{secrets.token_hex(4)}"
    create_database(pair.primary.url, name)
    engine = make_engine(parse_url(pair.url(name)), name="tests")
    schema.upgrade(engine)
    ann, user = People(engine).ann(), mail_server.mailbox().user
    with a_pooler(pair.primary.url) as pooler:
        through = settings.model_copy(update={"database_url": SecretStr(pooler.url(name))})
        with watched(engine, through, ann, port=mail_server.port, username=user) as place:
            for number in (1, 2):
                place.program.deliver(an_original(message_id=f"<{number}@mail.example>"))
            before, tomorrow = place.program.shown("INBOX"), place.folder("Snooze", "Tomorrow")
            process = place.process(SNOOZER_PGBOUNCER="1")
            place.program.move("INBOX", tomorrow, uids="1")
            place.eventually(lambda: place.asleep() == 1)
            pair.kill_primary()
            place.program.move("INBOX", tomorrow, uids="2")
            pair.promote()
            pooler.follow(pair.primary.url)
            engine.dispose()
            place.eventually(lambda: place.asleep() == 2)
            place.make_due()
            place.eventually(lambda: place.program.shown("INBOX") == returned(before))
            assert process.poll() is None
    engine.dispose()
