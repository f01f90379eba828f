"""The sample messages themselves: a week of ordinary mail, none of it from a real domain."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from snoozer.dev.environment import OWNER

_LINE_LENGTH_POLICY = SMTP.clone(max_line_length=78)


@dataclass(frozen=True, kw_only=True)
class _Letter:
    """`{1}` in a text is tomorrow as a person says it, `{9}` the day in nine days."""

    hours_ago: float
    sender: str
    subject: str | None
    text: str = ""
    html: str = ""


_LETTERS = (
    _Letter(
        hours_ago=143,
        sender="Marta Lindqvist <marta@studio-north.example>",
        subject="Invoice 2031 for the spring catalogue",
        text="""Hello,

thank you for the good work together. Invoice 2031 for the spring catalogue:

    Layout and typesetting, 24 pages      1,920.00
    Two rounds of corrections               260.00
    ----------------------------------------------
    Total                                 2,180.00

It is due on {9}. The account has not changed. If something
is missing on it, tell me and I will write it anew.

Marta Lindqvist
Studio North
""",
    ),
    _Letter(
        hours_ago=121,
        sender="Fjord Air <bookings@fjordair.example>",
        subject="Your flight to Bergen: booking QX7M2P",
        text="""Booking QX7M2P

    {12}
    FA 418   08:25  ->  10:05
    Seat 14A, one cabin bag

Online check-in opens 24 hours before departure. The bag drop closes 45 minutes
before it.

Fjord Air
""",
    ),
    _Letter(
        hours_ago=98,
        sender="Praxis Dr. Amsel <empfang@praxis-amsel.example>",
        subject="Ihr Termin zur Vorsorgeuntersuchung",
        text="""Guten Tag,

wir haben für Sie einen Termin zur Vorsorgeuntersuchung vorgemerkt:

    {5:de}, 08:40 Uhr

Bitte kommen Sie nüchtern und bringen Sie Ihre Versichertenkarte mit. Falls Sie
verhindert sind, genügt eine kurze Antwort bis zwei Tage vorher.

Freundliche Grüße
Ihre Praxis Dr. Amsel
""",
    ),
    _Letter(
        hours_ago=75,
        sender="Dr. Osei's practice <appointments@osei-dental.example>",
        subject="Reminder: dental check-up",
        text="""Your next check-up is due. We have kept this time for you:

    {7}, 16:10

If it does not suit you, answer with two days that do.

Dr. Osei's practice, 4 Orchard Lane
""",
    ),
    _Letter(
        hours_ago=52,
        sender="Jonas Vik <jonas.vik@example.com>",
        subject="The cabin, the first weekend we are all free",
        text="""Hi,

I asked the owners: the cabin by the lake is free in three weeks, Friday to
Monday. Ida brings the canoe, I cook on Saturday, and the stove works again.

They hold it for us until {4}. Are you in?

Jonas
""",
    ),
    _Letter(
        hours_ago=46,
        sender="Nora Castell <nora@example.com>",
        subject=None,
        text="""I forgot the subject, as always. The book I told you about is "The Living
Mountain" by Nan Shepherd. Read the chapter on water first.

N.
""",
    ),
    _Letter(
        hours_ago=30,
        sender="Teo Marin <reviews@forge.example>",
        subject="[orchard/api] Re-read the lease before extending it (#482)",
        text="""Teo Marin asked you to review #482.

The heartbeat extends a lease that it read at the beginning of the loop. When the
loop is slow, that lease may have been given to somebody else in between. This
change reads it again, in the same statement that extends it.

    4 files changed, 61 insertions(+), 23 deletions(-)

"I am not sure about the second test: it passes with the old code as well."
""",
    ),
    _Letter(
        hours_ago=26,
        sender="דנה לוי <dana@garden.example>",
        subject="פגישת הגינה הקהילתית ביום שישי",
        text="""שלום לכולם,

ניפגש ביום שישי בשעה 9:30 ליד הברז הגדול. נשתול עגבניות ובזיליקום, ואחר כך נשתה
קפה. מי שיש לו כפפות מיותרות, שיביא.

דנה
""",
    ),
    _Letter(
        hours_ago=21,
        sender="Parents' council <council@hillside-school.example>",
        subject=(
            "Minutes of the autumn meeting, the list of volunteers for the winter fair, the new times of the "
            "school bus on line 7, and the question who still has the key to the sports hall"
        ),
        text="""Dear parents,

the minutes are below. Two things need an answer by {6}:

  1. Who helps at the winter fair from 14:00 to 16:00? Three people are missing.
  2. The key to the sports hall was last seen at the summer party.

From next week the bus on line 7 leaves eight minutes earlier.

The parents' council
""",
    ),
    _Letter(
        hours_ago=8,
        sender="The Slow Letter <hello@slowletter.example>",
        subject="Forty ways to cook a leek",
        html="""<!doctype html>
<html><body style="font-family: Georgia, serif; color: #222; max-width: 34em">
<h1 style="font-size: 22px">Forty ways to cook a leek</h1>
<p>Leeks are the most patient vegetable in the market. This week we give them
<em>time</em>: forty minutes in the oven, a spoon of mustard, nothing else.</p>
<h2 style="font-size: 17px">In this letter</h2>
<ul>
<li>The recipe, in four lines</li>
<li>A visit to a seed library</li>
<li>What our readers do with the green part</li>
</ul>
<p><a href="https://slowletter.example/letters/leek">Read it in the browser</a></p>
</body></html>
""",
    ),
    _Letter(
        hours_ago=3,
        sender="Ida Berg <ida@example.com>",
        subject="🎉 Thirty candles, one cake, {8}",
        text="""It is my birthday and I would like to see you there.

{8}, from 19:00, at our place. Bring nothing but an appetite; Malik
bakes the cake and it will be too large.

Ida 🎈
""",
    ),
    _Letter(
        hours_ago=0.4,
        sender="City Library <desk@library.example>",
        subject="The book you reserved has arrived",
        text=""""A Pattern Language" is waiting for you at the desk.

We keep it until {3}. The library closes at 18:00.
""",
    ),
)

_GERMAN_DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")


class _Day(datetime):
    """A day that says itself in a text: `Friday 27 November`, or with `:de` `Freitag, 27.11.`."""

    def __format__(self, language: str) -> str:
        if language == "de":
            return f"{_GERMAN_DAYS[self.weekday()]}, {self.day}.{self.month}."
        return f"{self.strftime('%A')} {self.day} {self.strftime('%B')}"


def letters(now: datetime) -> Iterator[bytes]:
    """Every sample as it would come over the wire, the oldest first."""
    days = [_Day.fromtimestamp((now + timedelta(days=ahead)).timestamp(), tz=now.tzinfo) for ahead in range(15)]
    for number, letter in enumerate(_LETTERS, start=1):
        message = EmailMessage(policy=_LINE_LENGTH_POLICY)
        message["From"] = letter.sender
        message["To"] = OWNER
        if letter.subject is not None:
            message["Subject"] = letter.subject.format(*days)
        message["Date"] = format_datetime(now - timedelta(hours=letter.hours_ago))
        domain = letter.sender.rpartition("@")[2].rstrip(">")
        message["Message-ID"] = f"<sample-{number}.{int(now.timestamp())}@{domain}>"
        if letter.html:
            message.set_content(letter.html, subtype="html")
        else:
            message.set_content(letter.text.format(*days))
        yield message.as_bytes()
