"""`snoozer mailbox` beside servers that mean harm: the other mailboxes are watched, and no error of ours is logged."""

import logging
import time
from contextlib import ExitStack
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from snoozer.mailboxes.imap.folders import OurFolders
from snoozer.mailboxes.sync.mailbox_watch import MailboxWatch
from snoozer.mailboxes.sync.ownership import Ownership
from snoozer.mailboxes.sync.session import NoticeSender, Session
from snoozer.runtime import encryption
from snoozer.runtime.process_identity import process_name
from snoozer.settings import Settings
from tests.factories import People, a_mailbox, an_original
from tests.imap.scripted_server import EOF, WITH_FOLDERS, ScriptedImap
from tests.imap.watched import Place

LISTED = "".join(f'* LIST () "/" "{name}"\r\n' for name in ("INBOX", "Snooze", "Snoozed", "Snooze/Tomorrow"))
STATUSES = "".join(
    f'* STATUS "{name}" (MESSAGES 1 UIDNEXT 2 UIDVALIDITY 8)\r\n' for name in ("Snoozed", "Snooze/Tomorrow")
)
HEADER = (
    "Subject: =?utf-8?B?AAAA?= a\x00b \x1b[31m<script>alert(1)</script>\r\n"
    "From: \x00\x07 <a@b\x00.example>\r\nMessage-ID: <x\x01@y>\r\n"
)
HEAD = (
    f"* 1 FETCH (UID 1 FLAGS (\\Seen {'x' * 2000}) RFC822.SIZE {2**63 - 1} "
    'INTERNALDATE "31-Dec-9999 23:59:59 +0000" '
    f"BODY[HEADER.FIELDS (SUBJECT)]<0> {{{len(HEADER)}}}\r\n{HEADER})\r\n{{tag}} OK done\r\n"
)
LIES = {
    "LIST": LISTED + "{tag} OK done\r\n",
    "STATUS": STATUSES + "{tag} OK done\r\n",
    "SELECT": "* 1 EXISTS\r\n* OK [UIDVALIDITY 8] ok\r\n* OK [UIDNEXT 2] next\r\n{tag} OK [READ-WRITE] done\r\n",
    "UID SEARCH": "* SEARCH 1\r\n{tag} OK done\r\n",
    "UID FETCH": HEAD,
    "UID MOVE": f"* OK [COPYUID 8 1:4294967295 {'1:99999,' * 500}1] moved\r\n{{tag}} OK done\r\n",
}
HARM = {
    "digits": {"LIST": f'* LIST () "/" {{{"9" * 5000}}}\r\n'},
    "shape": {"NAMESPACE": "* NAMESPACE (5) x (NIL NIL)\r\n{tag} OK done\r\n"},
    "bye": {"LOGIN": "* BYE too many connections\r\n" + EOF},
    "names": {"LIST": LISTED + '* LIST () "/" {16}\r\nSnooze/in 1 d\r\n\x00\r\n{tag} OK done\r\n'},
    "utf-7": {"LIST": LISTED + '* LIST () "/" "Snooze/&AAAACgANIC4-"\r\n{tag} OK done\r\n'},
    "lies": LIES,
    "years": {**LIES, "UID FETCH": HEAD.replace("+0000", "-1200")},
    "idle": {**LIES, "IDLE": "+ idling\r\n" + "* 1 EXPUNGE\r\n" * 20_000},
    "vanished": {**LIES, "UID FETCH": "{tag} NO gone\r\n", "UID MOVE": "{tag} BAD no\r\n"},
}


def test_a_server_that_reports_changes_without_end_leaves_most_of_the_time_to_others(
    engine: Engine, settings: Settings, people: People
) -> None:
    sender = NoticeSender(settings.mail_from, "snoozer.example")
    ours = OurFolders(snoozed="", root="", left_out=())
    with ScriptedImap(WITH_FOLDERS | HARM["idle"]) as server:
        a_mailbox(engine, account_id=people.ann().id, port=server.port)
        [mailbox] = Ownership(engine, owner=process_name(), retry=timedelta(hours=1)).keep({}).taken
        watch = MailboxWatch(
            engine,
            mailbox,
            open=lambda _: server.open(),
            session=lambda mailbox, imap: Session(
                engine=engine,
                mailbox=mailbox,
                imap=imap,
                ours=ours,
                sender=sender,
                uncertainty=settings.uncertainty,
            ),
            poll=60,
        )
        before = time.thread_time()
        wait = watch.turn(look=True, move=False)
        used = time.thread_time() - before
        watch.close()
    assert wait.is_done
    assert not wait.listens
    assert not wait.at_once
    assert wait.seconds > 5 * used


@pytest.mark.dovecot
def test_one_mailbox_works_beside_many_that_mean_harm(
    place: Place, people: People, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    secret = encryption.encrypt(place.settings.keys, "password-of-a-test")
    with ExitStack() as stack:
        for kind, script in HARM.items():
            server = stack.enter_context(ScriptedImap(WITH_FOLDERS | script))
            a_mailbox(
                place.engine,
                account_id=people.ann(f"{kind}@mail.example").id,
                host="127.0.0.1",
                port=server.port,
                security="plain",
                secret=secret,
                synced_at=None,
            )
        place.program.deliver(an_original(subject="a", message_id="<a@mail.example>"))
        place.start()
        place.eventually(lambda: not place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NULL AND problem IS NULL"))
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.eventually(lambda: place.program.count(place.snoozed) == 1)
        place.stop()
    texts = [record.getMessage() for record in caplog.records]
    assert not [record.getMessage() for record in caplog.records if record.exc_info], "no traceback"
    assert not any("password-of-a-test" in each for each in texts)
