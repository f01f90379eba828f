"""Answers to a reminder in the shapes of ten mail programs, each around one line of text."""

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html import escape
from quopri import encodestring
from uuid import UUID

from snoozer.mail import message_parser
from snoozer.queue.reminder import Send
from tests.mail.composed import PROMISED, reminder

REMINDER = reminder(
    Send(
        snooze_id=42,
        claim_token=UUID(int=7),
        user_email="ann@snoozer.example",
        message_id="<original@example.com>",
        scheduled_for=PROMISED,
        dated=PROMISED,
        reminder_message_id="<0123456789abcdef@snoozer.example>",
        subject="Done",
        sender_email="Tomorrow <anna.berg@example.com>",
        note="tomorrow",
        zone="Europe/Berlin",
        bytes_sha256=None,
    )
)
QUOTED = message_parser.parse(REMINDER).text
PAGE = message_parser.parse_html(REMINDER) or ""
WHO = "Snoozer <snoozer@snoozer.example>"

LINES = ("3d", "Friday 2pm", "done", "jeden Montag 9 Uhr", "nächste Woche", "Abbrechen!")

Shape = Callable[[str], tuple[str, str]]


def marked(text: str = QUOTED) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def plain(text: str) -> tuple[str, str]:
    """The fields of the body, and the body: UTF-8 in quoted-printable."""
    body = encodestring(text.encode()).decode()
    return "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable", body


def html(page: str) -> tuple[str, str]:
    return "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64", b64encode(
        page.encode()
    ).decode()


def both(text: str, page: str) -> tuple[str, str]:
    parts = "".join(f"--b\n{fields}\n\n{body}\n" for fields, body in (plain(text), html(page)))
    return 'Content-Type: multipart/alternative; boundary="b"', f"{parts}--b--\n"


def gmail(line: str) -> tuple[str, str]:
    intro = f"On Fri, 6 Mar 2026 at 08:00, {WHO} wrote:"
    page = f'<div dir="ltr">{escape(line)}</div><br><div class="gmail_quote"><div>{escape(intro)}<br></div>'
    page += f'<blockquote class="gmail_quote" style="margin:0">{PAGE}</blockquote></div>'
    return both(
        f"{line}\n\nOn Fri, 6 Mar 2026 at 08:00, Snoozer <snoozer@snoozer.example>\nwrote:\n\n{marked()}\n", page
    )


def gmail_german(line: str) -> tuple[str, str]:
    intro = "Am Fr., 6. März 2026 um 08:00 Uhr schrieb Snoozer <\nsnoozer@snoozer.example>:"
    return plain(f"{line}\n\n{intro}\n\n{marked()}\n")


def outlook(line: str) -> tuple[str, str]:
    head = (
        f"<b>From:</b> {escape(WHO)}<br><b>Sent:</b> Friday, March 6, 2026 8:00 AM<br><b>To:</b> Ann<br>"
        "<b>Subject:</b> Offer"
    )
    page = f'<div class="WordSection1"><p class="MsoNormal">{escape(line)}</p><p class="MsoNormal">&nbsp;</p>'
    page += f'<p class="MsoNormal">Ann Else<br>Head of Sales | Example Ltd</p><div><p>{head}</p></div>{PAGE}</div>'
    return html(page)


def outlook_german(line: str) -> tuple[str, str]:
    head = f"Von: {WHO}\nGesendet: Freitag, 6. März 2026 08:00\nAn: Ann\nBetreff: Angebot"
    return plain(f"{line}\n\nMit freundlichen Grüßen\nAnn Else\n\n{'_' * 32}\n{head}\n\n{QUOTED}\n")


def outlook_mobile(line: str) -> tuple[str, str]:
    page = f"<div>{escape(line)}</div><div><br></div><div>Get <a href='https://aka.ms/o0ukef'>Outlook for iOS</a></div>"
    page += f"<hr><div><b>From:</b> {escape(WHO)}<br><b>Sent:</b> Friday<br><b>To:</b> Ann</div>{PAGE}"
    return html(page)


def apple_mail(line: str) -> tuple[str, str]:
    page = f"<html><body>{escape(line)}<br><div><br><blockquote type='cite'><div>On 6 Mar 2026, at 08:00, Snoozer "
    page += f"&lt;snoozer@snoozer.example&gt; wrote:</div><br>{PAGE}</blockquote></div></body></html>"
    return both(f"{line}\n\n> On 6 Mar 2026, at 08:00, {WHO} wrote:\n> \n{marked()}\n", page)


def iphone_german(line: str) -> tuple[str, str]:
    intro = f"Am 06.03.2026 um 08:00 schrieb {WHO}:"
    page = f"<div>{escape(line)}<br><br><div dir='ltr'>Von meinem iPhone gesendet</div><div dir='ltr'><br>"
    page += f"<blockquote type='cite'>{escape(intro)}<br><br></blockquote></div><blockquote type='cite'>{PAGE}"
    return html(f"{page}</blockquote></div>")


def thunderbird(line: str) -> tuple[str, str]:
    """The answer stands under the quote."""
    return plain(f"On 06/03/2026 08:00, Snoozer wrote:\n{marked()}\n\n{line}\n\n-- \nAnn Else\nTel. 0123 456\n")


def k9(line: str) -> tuple[str, str]:
    intro = f"Am 6. März 2026 08:00:00 MEZ schrieb {WHO}:"
    return plain(
        f"Hallo Snoozer,\n\n{line}\n-- \nDiese Nachricht wurde von meinem Telefon gesendet.\n\n{intro}\n{marked()}"
    )


def web_de(line: str) -> tuple[str, str]:
    head = f"Gesendet: Freitag, 6. März 2026 um 08:00\nVon: {WHO}\nAn: ann@web.example\nBetreff: Angebot"
    return plain(f"{line}\nViele Grüße\nAnn\n\n{head}\n\n{QUOTED}")


PROGRAMS: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        *(gmail, gmail_german, outlook, outlook_german, outlook_mobile),
        *(apple_mail, iphone_german, thunderbird, k9, web_de),
    )
}


def an_answer(shape: Shape, line: str, *, fields: str = "", sender: str = "Ann Else <ann@snoozer.example>") -> bytes:
    """The whole message; `fields` are more of its header, each with a line end."""
    body_fields, body = shape(line)
    head = f"From: {sender}\nTo: r@in.snoozer.example\nSubject: Re: Offer\nDate: Fri, 6 Mar 2026 09:00:00 +0100\n"
    number = sha256(repr((shape.__name__, line, fields)).encode()).hexdigest()[:20]
    text = f"{head}Message-ID: <{number}@mail.example>\n{fields}MIME-Version: 1.0\n{body_fields}\n\n{body}"
    return text.replace("\n", "\r\n").encode()
