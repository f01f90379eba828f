"""Mail of a week, as a connected mailbox holds it: a conversation, a newsletter in HTML, files, and what is hard to
display."""

from email.message import EmailMessage
from email.utils import format_datetime
from zlib import crc32

from tests.factories import HOUR, now

PIXEL = (
    b"GIF89a\x01\x00\x01\x00\x80\x01\x00\x1e\x90\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)
FILE_NAME = "Angebot für März \u202ecod.exe.pdf"


def a_letter(
    subject: str | None, *, hours_ago: int = 1, sender: str = "Ben Ode <ben@mail.example>", **fields: str
) -> EmailMessage:
    """A plain message. `fields` are more of its header, "_" being "-"."""
    letter = EmailMessage()
    if subject is not None:
        letter["Subject"] = subject
    letter["From"] = sender
    letter["To"] = "ann@snoozer.example"
    letter["Date"] = format_datetime(now() - hours_ago * HOUR)
    letter["Message-ID"] = f"<{crc32(f'{subject} {hours_ago}'.encode())}@mail.example>"
    for name, value in fields.items():
        del letter[name.replace("_", "-")]
        letter[name.replace("_", "-")] = value
    letter.set_content("Dear Ann,\n\nhow are you?\n\nBen\n")
    return letter


def a_newsletter() -> bytes:
    """With a picture of its own, one from elsewhere, a form and a script."""
    letter = a_letter("Summer in the mountains", hours_ago=30, sender="Alpine Club <news@club.example>")
    letter.add_alternative(
        "<style>p { color: red }</style><body bgcolor='#f4f4f4' onload=alert(1)><table width='600' align='center' "
        "style='background-color:#ffffff'><tr><td style='padding:16px'><h1>Summer</h1><p>Dear <b>Ann</b>, the huts are "
        "open. <a href='https://club.example/huts?a=1'>See them all</a>.</p><img src='cid:logo@club' alt='The logo' "
        "width='48' height='48'><img src='http://127.0.0.1:9/pixel.gif' alt='A picture from elsewhere'>"
        "<form action='http://127.0.0.1:9/'><input name='q'></form><script>alert(2)</script></td></tr></table>",
        subtype="html",
    )
    page = letter.get_payload(1)
    assert isinstance(page, EmailMessage)
    page.add_related(PIXEL, "image", "gif", cid="<logo@club>", filename="logo.gif")
    return bytes(letter)


def with_files() -> bytes:
    """Two files, of which one has a name that turns itself around."""
    letter = a_letter("Offer", hours_ago=3, sender="Cleo <cleo@mail.example>")
    letter.add_attachment(b"%PDF-1.7 offer", maintype="application", subtype="pdf", filename=FILE_NAME)
    letter.add_attachment(b"<script>alert(3)</script>", maintype="text", subtype="html", filename="../page.html")
    return bytes(letter)


def a_conversation() -> list[bytes]:
    """Three messages, of which the last two name the ones before."""
    first = a_letter("Rooms in May", hours_ago=28, Message_ID="<rooms-1@mail.example>")
    second = a_letter(
        "Re: Rooms in May", hours_ago=27, Message_ID="<rooms-2@mail.example>", References="<rooms-1@mail.example>"
    )
    third = a_letter(
        "Re: Rooms in May",
        hours_ago=2,
        sender="Dora <dora@mail.example>",
        Message_ID="<rooms-3@mail.example>",
        References="<rooms-1@mail.example> <rooms-2@mail.example>",
    )
    return [bytes(first), bytes(second), bytes(third)]


def a_week() -> list[bytes]:
    """All of these, and subjects that are hard to display; the oldest first."""
    long = "Donaudampfschifffahrtsgesellschaftskapitaen " * 6
    hard = [
        a_letter(long, hours_ago=200),
        a_letter("תזכורת: פגישת הורים ביום רביעי", hours_ago=80),
        a_letter("🎉 Launch party", hours_ago=50),
        a_letter(None, hours_ago=40),
    ]
    first, second, third = a_conversation()
    return [*map(bytes, hard), a_newsletter(), first, second, with_files(), third]
