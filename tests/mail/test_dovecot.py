"""A reminder in a real mailbox: delivered by LMTP, found again by IMAP, not one byte changed."""

import imaplib
import shutil
import smtplib

import pytest

from snoozer.mail.compose import ReminderWriter
from tests.conftest import missing
from tests.imap import dovecot
from tests.mail.conftest import Sends


@pytest.mark.dovecot
def test_a_reminder_arrives_whole_and_is_found_by_its_message_id(a_send: Sends) -> None:
    if shutil.which("dovecot") is None:
        missing("dovecot")
    send = a_send(subject="Quartalszahlen für דוח 🎉", note="Ask about travel.\n.\nThen answer.")
    writer = ReminderWriter(
        mail_from="Snoozer <s@snoozer.example>", base_url="https://snoozer.example", keys=["k"], instance="i-1"
    )
    mail = writer.write(send)
    with dovecot.running() as server:
        with smtplib.LMTP("127.0.0.1", server.lmtp_port, local_hostname="test.example") as client:
            assert client.sendmail("s@snoozer.example", [send.user_email], mail) == {}
        mailbox = imaplib.IMAP4("127.0.0.1", server.imap_port)
        try:
            mailbox.login(send.user_email, dovecot.PASSWORD)
            mailbox.select("INBOX", readonly=True)
            found = mailbox.uid("SEARCH", "HEADER", "Message-ID", f'"{send.reminder_message_id}"')[1]
            assert len(found) == 1
            uid = found[0].decode()
            assert uid.isdecimal()
            assert mailbox.uid("SEARCH", "HEADER", "X-Snoozer-Instance", "i-1")[1] == found
            assert mailbox.uid("SEARCH", "HEADER", "Message-ID", '"<another@snoozer.example>"')[1] == [b""]
            structure = mailbox.uid("FETCH", uid, "(BODYSTRUCTURE)")[1][0]
            assert isinstance(structure, bytes)
            assert b'("text" "plain" ("charset" "utf-8")' in structure
            assert b'("text" "html" ("charset" "utf-8")' in structure
            assert b'"alternative"' in structure
            fetched = mailbox.uid("FETCH", uid, "(BODY.PEEK[])")[1][0]
            assert isinstance(fetched, tuple)
            # The server puts Return-Path, Delivered-To and Received in front; from our first field on nothing differs.
            assert fetched[1][fetched[1].index(b"From: Snoozer") :] == mail
        finally:
            mailbox.logout()
