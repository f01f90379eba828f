"""The mail host of people who have accounts at two Snoozers. It forwards their mail to the other Snoozer, as a .forward
does, and answers it, as an autoresponder does that takes little care.

Each instance, by its name `a` or `b`, hands its mail over at an SMTP port of its own, and takes mail by LMTP.
"""

import smtplib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage, Message
from email.parser import BytesHeaderParser
from email.utils import format_datetime, parseaddr
from queue import SimpleQueue
from threading import Lock, Thread
from types import TracebackType
from typing import Literal

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.factories import now
from tests.imap import server_process

PEOPLE = "people.example"
AUTHSERV_ID = f"mx.{PEOPLE}"
OTHER = {"a": "b", "b": "a"}

AnswersTo = Literal["Reply-To", "From", "envelope"]
# It says that a machine answers, or names only what it answers, or not even that.
Manner = Literal["signed", "threaded", "mute"]


def inbound_domain(name: str) -> str:
    """The domain of the addresses at which mail to this instance acts."""
    return f"in.{name}.example"


@dataclass(frozen=True, kw_only=True)
class Resident:
    """A person's address, what happens to mail for it, and the keys of the person's accounts."""

    address: str
    answers_to: AnswersTo
    manner: Manner
    keeps_sender: bool
    keys: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Letter:
    """A mail on its way; `by` is the instance that sent it, empty for others."""

    mail_from: str
    to: str
    content: bytes
    by: str = ""


class _Entrance:
    """aiosmtpd's hooks of the port for one instance."""

    def __init__(self, office: "PostOffice", name: str) -> None:
        self._office, self._name = office, name

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        for to in envelope.rcpt_tos:
            letter = Letter(
                mail_from=envelope.mail_from or "", to=to, content=envelope.original_content or b"", by=self._name
            )
            self._office.post(letter)
        return "250 2.0.0 queued"


class PostOffice:
    """Runs inside `with`; one thread delivers. `sent` counts the mails of the instances by their recipient, `forwarded`
    and `answered` the mails that these made, and `refused` has the replies of instances that refused a mail."""

    def __init__(self, inbound_ports: Mapping[str, int]) -> None:
        self.inbound_ports = inbound_ports
        self._entrances = {
            name: Controller(_Entrance(self, name), hostname="127.0.0.1", port=server_process.free_port())
            for name in inbound_ports
        }
        self._residents: dict[str, Resident] = {}
        self._letters: SimpleQueue[Letter | None] = SimpleQueue()
        self._thread = Thread(target=self._deliver_all, name="post office")
        self.sent: Counter[str] = Counter()
        self.forwarded: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.refused: list[str] = []
        self.posted = self.delivered = 0
        self._counting = Lock()

    def __enter__(self) -> "PostOffice":
        for entrance in self._entrances.values():
            entrance.start()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for entrance in self._entrances.values():
            entrance.stop()
        self._letters.put(None)
        self._thread.join()

    def port(self, name: str) -> int:
        return self._entrances[name].port

    def house(self, residents: Sequence[Resident]) -> None:
        """Receive mail for these people. To be called before the first mail."""
        self._residents |= {one.address: one for one in residents}

    def post(self, letter: Letter) -> None:
        """Take a mail, and deliver it when its turn has come."""
        with self._counting:
            if letter.by:
                self.sent[letter.to] += 1
            self.posted += 1
        self._letters.put(letter)

    def is_empty(self) -> bool:
        return self.delivered == self.posted

    def _deliver_all(self) -> None:
        while (letter := self._letters.get()) is not None:
            self._deliver(letter)
            self.delivered += 1

    def _deliver(self, letter: Letter) -> None:
        domain = letter.to.rpartition("@")[2]
        for name, port in self.inbound_ports.items():
            if domain == inbound_domain(name):
                self._hand_over(letter, port)
                return
        resident = self._residents.get(letter.to)
        if resident is None:
            self._pass_on(letter, domain.partition(".")[0])
            return
        self._forward(letter, resident)
        self._answer(letter, resident)

    def _hand_over(self, letter: Letter, port: int) -> None:
        try:
            with smtplib.LMTP("127.0.0.1", port, local_hostname=AUTHSERV_ID) as client:
                client.sendmail(letter.mail_from, letter.to, letter.content)
        except (smtplib.SMTPException, OSError) as error:
            self.refused.append(str(error))

    def _forward(self, letter: Letter, resident: Resident) -> None:
        """To the address of the other instance that snoozes for three days, byte for byte below a trace."""
        other = OTHER[letter.by]
        self.forwarded[resident.address] += 1
        self.post(
            Letter(
                mail_from=letter.mail_from if resident.keeps_sender else resident.address,
                to=f"3d+{resident.keys[other]}@{inbound_domain(other)}",
                content=_traced(letter.content),
            )
        )

    def _answer(self, letter: Letter, resident: Resident) -> None:
        head = BytesHeaderParser().parsebytes(letter.content)
        to = {
            "Reply-To": parseaddr(str(head["Reply-To"] or head["From"]))[1],
            "From": parseaddr(str(head["From"]))[1],
            "envelope": letter.mail_from,
        }[resident.answers_to]
        if not to:
            return
        self.answered[resident.address] += 1
        answer = _an_answer(head, resident, to=to, number=self.posted)
        self.post(Letter(mail_from="" if resident.manner == "signed" else resident.address, to=to, content=answer))

    def _pass_on(self, letter: Letter, name: str) -> None:
        """Mail to the sender of an instance's mails: its operator has an alias for it, an address of the other instance
        that snoozes for the sender."""
        proof = f"Authentication-Results: {AUTHSERV_ID}; dmarc=pass header.from={PEOPLE}\r\n".encode()
        to = f"3d@{inbound_domain(OTHER[name])}"
        self.post(Letter(mail_from=letter.mail_from, to=to, content=proof + _traced(letter.content)))


def _traced(content: bytes) -> bytes:
    return f"Received: from here by {AUTHSERV_ID}; {format_datetime(now())}\r\n".encode() + content


def _an_answer(head: Message, resident: Resident, *, to: str, number: int) -> bytes:
    answer = EmailMessage()
    answer["From"], answer["To"], answer["Date"] = resident.address, to, format_datetime(now())
    answer["Subject"] = f"Re: {' '.join(str(head['Subject']).split())}"
    answer["Message-ID"] = f"<{number}@{PEOPLE}>"
    if resident.manner != "mute":
        answer["In-Reply-To"] = answer["References"] = str(head["Message-ID"]).strip()
    if resident.manner == "signed":
        answer["Auto-Submitted"] = "auto-replied"
    answer.set_content(f"We have your mail, and gave it the number {number}.")
    return answer.as_bytes(policy=answer.policy.clone(linesep="\r\n"))
