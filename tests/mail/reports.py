"""Reports as mail systems write them: of a bounce, a delay or a complaint. Each tells of a reminder to Ben."""

# ruff: noqa: E501

from dataclasses import dataclass

BEN = "ben@mail.example"
ORIGINAL = (
    "From: Snoozer <reminders@snoozer.example>\r\nTo: ben@mail.example\r\nSubject: Secret figures\r\n"
    "Message-ID: <1@snoozer.example>\r\n\r\nThe mailbox of 5.7.1 is full, permanent error 552 5.2.2.\r\n"
)


@dataclass(frozen=True)
class Written:
    """One report, and what it says: kind, code, a piece of its text, and whether mail to Ben stops."""

    mail: bytes
    kind: str
    code: str
    piece: str
    stops: bool


def a_report(
    fields: str,
    *,
    prose: str = "This is the mail system.",
    sender: str = "MAILER-DAEMON@mx.example (Mail Delivery System)",
    subject: str = "Undelivered Mail Returned to Sender",
    form: str = "delivery-status",
) -> bytes:
    """A multipart/report (RFC 6522) with these fields and the mail that it is about."""
    parts = [
        f"Content-Type: text/plain; charset=utf-8\r\n\r\n{prose}\r\n",
        f"Content-Type: message/{form}\r\n\r\n{fields.strip()}\r\n",
        f"Content-Type: message/rfc822\r\n\r\n{ORIGINAL}",
    ]
    body = "".join(f"--b1\r\n{part}\r\n" for part in parts)
    head = (
        f"From: {sender}\r\nTo: b@in.example\r\nSubject: {subject}\r\nAuto-Submitted: auto-replied\r\n"
        f'MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type={form}; boundary="b1"\r\n\r\n'
    )
    return (head + body + "--b1--\r\n").replace("\r\n", "\n").replace("\n", "\r\n").encode()


def a_text(sender: str, subject: str, text: str, *, kind: str = "text/plain", returned: str = ORIGINAL) -> bytes:
    """Prose, with the mail that it is about below it."""
    head = f"From: {sender}\r\nTo: b@in.example\r\nSubject: {subject}\r\nContent-Type: {kind}; charset=utf-8\r\n\r\n"
    return (head + text + "\n" + returned).replace("\r\n", "\n").replace("\n", "\r\n").encode()


def about(action: str, status: str, diagnostic: str = "") -> str:
    """The fields about a message, and about its recipient."""
    fields = f"Reporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822; {BEN}\nAction: {action}\nStatus: {status}\n"
    return fields + (f"Diagnostic-Code: {diagnostic}\n" if diagnostic else "")


REPORTS: dict[str, Written] = {
    "Postfix, no such user": Written(
        a_report(
            about("failed", "5.1.1", f"smtp; 550 5.1.1 <{BEN}>: Recipient address\n    rejected: User unknown"),
            prose=f"<{BEN}>: host mx.example[192.0.2.1] answered: 550 5.1.1 no",
        ),
        "bounced", "5.1.1", "550 5.1.1 <…@…>: Recipient address rejected: User unknown", True,
    ),
    "Postfix, a host that does not exist": Written(
        a_report(about("failed", "5.4.4", "X-Postfix; Host or domain name not found. type=MX: Host not found")),
        "bounced", "5.4.4", "Host not found", False,
    ),
    "Postfix, given up after five days": Written(
        a_report(about("failed", "4.4.1", "X-Postfix; connect to mx.example[192.0.2.1]:25: Connection timed out")),
        "bounced", "4.4.1", "timed out", False,
    ),
    "Postfix, delayed": Written(
        a_report(about("delayed", "4.2.2", "smtp; 452 4.2.2 Mailbox full")), "delayed", "4.2.2", "Mailbox full", False,
    ),
    "Gmail, no such user": Written(
        a_report(
            about(
                "failed", "5.1.1", "smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please "
                "try\n 550 5.1.1 double-checking"
            ),
            sender="Mail Delivery Subsystem <mailer-daemon@googlemail.com>",
            subject="Delivery Status Notification (Failure)",
        ),
        "bounced", "5.1.1", "does not exist", True,
    ),
    "Gmail, a policy": Written(
        a_report(about("failed", "5.7.26", "smtp; 550-5.7.26 This mail has been blocked, not authenticated.")),
        "bounced", "5.7.26", "blocked", False,
    ),
    "Exchange Online": Written(
        a_report(
            about("failed", "5.1.10", "smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP"),
            sender="Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@mail.example>",
            subject="Undeliverable: Secret figures",
        ),
        "bounced", "5.1.10", "RecipientNotFound", True,
    ),
    "Exchange, a full mailbox": Written(
        a_report(about("failed", "5.2.2", "smtp;554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceeded")),
        "bounced", "5.2.2", "mailbox full", False,
    ),
    "sendmail, a vague status": Written(
        a_report(about("failed", "5.0.0", "SMTP; 550 5.1.1 User unknown")), "bounced", "5.1.1", "User unknown", True,
    ),
    "a server without enhanced codes": Written(
        a_report(about("failed", "5.0.0", "smtp; 550 No such user here")), "bounced", "5.0.0", "No such user", True,
    ),
    "a server that says nothing": Written(
        a_report(about("failed", "5.0.0"), prose="Sorry."), "bounced", "5.0.0", "", False,
    ),
    "two recipients, one of them delayed": Written(
        a_report(about("delayed", "4.4.1", "smtp; 421 later") + "\n" + about("failed", "5.1.1", "smtp; 550 5.1.1 gone")),
        "bounced", "5.1.1", "gone", True,
    ),
    "an abuse report": Written(
        a_report("Feedback-Type: abuse\nUser-Agent: Yahoo!-Mail-Feedback/2.0\nVersion: 1", form="feedback-report"),
        "complained", "", "abuse", True,
    ),
    "qmail": Written(
        a_text(
            "MAILER-DAEMON@mx.example",
            "failure notice",
            "Hi. This is the qmail-send program at mx.example.\nI'm afraid I wasn't able to deliver your message to the "
            "following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n"
            f"<{BEN}>:\nSorry, no mailbox here by that name. (#5.1.1)\n\n--- Below this line is a copy of the message.\n",
        ),
        "bounced", "5.1.1", "no mailbox here by that name", True,
    ),
    "Exim": Written(
        a_text(
            "Mail Delivery System <Mailer-Daemon@mx.example>",
            "Mail delivery failed: returning message to sender",
            "This message was created automatically by mail delivery software.\n\nA message that you sent could not be "
            "delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n"
            f"  {BEN}\n    Unrouteable address\n\n"
            "------ This is a copy of the message, including all the headers. ------\n\n",
        ),
        "bounced", "", "Unrouteable address", True,
    ),
    "Exim, the reply of a server": Written(
        a_text(
            "Mail Delivery System <Mailer-Daemon@mx.example>",
            "Mail delivery failed: returning message to sender",
            f"This is a permanent error. The following address(es) failed:\n\n  {BEN}\n    host mx.example [192.0.2.1]\n"
            f"    SMTP error from remote mail server after RCPT TO:<{BEN}>:\n    550-5.7.1 Blocked by a list\n\n"
            "------ This is a copy of the message, including all the headers. ------\n\n",
        ),
        "bounced", "5.7.1", "Blocked by a list", False,
    ),
    "Exim, delayed": Written(
        a_text(
            "Mail Delivery System <Mailer-Daemon@mx.example>",
            "Warning: message 1xYz-0001 delayed 24 hours",
            "A message that you sent has not yet been delivered to one or more of its\nrecipients after more than 24 hours "
            f"on the queue on mx.example.\n\n  {BEN}\n    Delay reason: Connection refused\n\nNo action is required on your "
            "part. Delivery attempts will continue for some time.\n\n",
            returned="",
        ),
        "delayed", "", "Delay reason: Connection refused", False,
    ),
    "sendmail": Written(
        a_text(
            "Mail Delivery Subsystem <MAILER-DAEMON@mx.example>",
            "Returned mail: see transcript for details",
            f"   ----- The following addresses had permanent fatal errors -----\n<{BEN}>\n    (reason: 550 5.1.1 No)\n\n"
            f"   ----- Transcript of session follows -----\n... while talking to mx.example.:\n>>> RCPT To:<{BEN}>\n"
            "<<< 550 5.1.1 User unknown\n\n   ----- Message header follows -----\n\n",
        ),
        "bounced", "5.1.1", "reason: 550 5.1.1 No", True,
    ),
    "Exchange 5.5": Written(
        a_text(
            '"System Administrator" <postmaster@mail.example>',
            "Undeliverable: Secret figures",
            "Your message did not reach some or all of the intended recipients.\n\nThe following recipient(s) could not be "
            f"reached:\n\n    {BEN} on 3/6/2026 8:00 AM\n        The e-mail account does not exist at the organization this "
            "message was sent to.\n        <mx.example #5.1.1>\n",
            returned="",
        ),
        "bounced", "5.1.1", "The e-mail account does not exist", True,
    ),
    "Domino": Written(
        a_text(
            "postmaster@mail.example",
            "DELIVERY FAILURE: User ben not listed in Domino Directory",
            f"Your message\n\n  Subject: x\n\nwas not delivered to:\n\n  {BEN}\n\nbecause:\n\n"
            "  User ben (…) not listed in Domino Directory\n",
            returned="",
        ),
        "bounced", "", "", False,
    ),
    "in HTML alone": Written(
        a_text(
            "postmaster@mail.example",
            "Undeliverable",
            f"<p>Delivery has failed to these recipients:</p><p>{BEN}</p><p>#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found "
            "##</p>",
            kind="text/html",
            returned="",
        ),
        "bounced", "5.1.1", "RecipNotFound", True,
    ),
    "in German": Written(
        a_text(
            "MAILER-DAEMON@mx.example",
            "Mail konnte nicht zugestellt werden",
            f"Ihre Nachricht konnte nicht zugestellt werden.\n\n{BEN}:\n550 Benutzer unbekannt\n",
            returned="",
        ),
        "bounced", "", "unbekannt", True,
    ),
}  # fmt: skip

_AWAY = "Until Monday I am not able to deliver anything, so my answer is delayed. Ask 5.1.1 or postmaster."

NO_REPORTS: dict[str, bytes] = {
    "a person": a_text(
        "Ben <ben@mail.example>", "Re: Offer", "Your mail could not be delivered? 550 5.1.1", returned=""
    ),
    "an out-of-office reply": a_text("Ben <ben@mail.example>", "Automatic reply: Offer", _AWAY, returned=""),
    "mail that was delivered": a_report(about("delivered", "2.0.0"), subject="Successful Mail Delivery Report"),
    "mail that was relayed": a_report(about("relayed", "2.0.0", "smtp; 250 ok")),
    "a report that it is no spam": a_report("Feedback-Type: not-spam\nVersion: 1", form="feedback-report"),
    "a receipt": a_report(
        f"Final-Recipient: rfc822;{BEN}\nDisposition: x; displayed",
        sender="Ben <ben@mail.example>",
        subject="Read: Secret figures",
        form="disposition-notification",
    ),
    "a report without fields": a_report("Reporting-MTA: dns; mx.example"),
    "a bounce that a person forwards": (
        b"From: Ben <ben@mail.example>\r\nSubject: Fwd: failure notice\r\nAuto-Submitted: auto-forwarded\r\n"
        b"Content-Type: multipart/mixed; boundary=f\r\n\r\n--f\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n"
        b"--f\r\nContent-Type: message/rfc822\r\n\r\n" + REPORTS["Postfix, no such user"].mail + b"\r\n--f--\r\n"
    ),
    "nothing": b"",
}
