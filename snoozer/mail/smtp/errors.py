"""The ways in which a message is not sent; the text of each masks addresses."""

from typing import Self

from snoozer.mail.smtp.transport import Reply


class CircuitOpen(Exception):
    """The mail server failed too often in a row, or accepts no more for now; this message was not tried."""


class ServerUnavailable(Exception):
    """The mail server could not be used, and it has not accepted the message; nothing is known of this message.

    `is_throttling` when the server replied that it was given too much.
    """

    def __init__(self, reason: str, *, is_throttling: bool = False) -> None:
        super().__init__(reason)
        self.is_throttling = is_throttling

    @classmethod
    def from_reply(cls, did: str, reply: Reply, *, connecting: bool = False) -> Self:
        """`did` is what the server did with this reply, such as "greeted us with".

        A 421 without an enhanced code means throttling only while `connecting`: later it may be a timeout.
        """
        refused = connecting and reply.code == 421 and reply.enhanced_code is None
        return cls(f"the mail server {did} {reply}", is_throttling=reply.is_throttling or refused)


class Rejected(Exception):
    """The server refused this message: for good when `permanent` (5xx), else for now (4xx). It has not accepted it.

    It `was_asked`, unless the session knew that no server, or this one, can be given mail for such a recipient.

    `is_server_wide` for 421: the server closes the connection, so the reply is not about this message. So it is where
    the server refuses everybody (`blame_server`).
    """

    def __init__(self, phase: str, reply: Reply, *, was_asked: bool = True) -> None:
        super().__init__(f"{phase}: {reply}")
        self.was_asked = was_asked
        self.phase = phase
        self.reply = reply
        self.permanent = reply.code >= 500
        self.is_server_wide = reply.code == 421

    @property
    def is_for_now(self) -> bool:
        """True if the server refused this recipient or message temporarily (4xx), and the server itself is not to
        blame."""
        return not (self.permanent or self.is_server_wide) and self.phase != "mail"

    @property
    def is_about_address(self) -> bool:
        """True when the enhanced code says that the recipient's address or mailbox is at fault (RFC 3463, 3.2, 3.3)."""
        return (self.reply.enhanced_code or "").startswith(("5.1.", "5.2."))

    def blame_server(self) -> None:
        """The server refuses everybody: this message is not at fault."""
        self.is_server_wide, self.permanent = True, False

    @property
    def is_throttling(self) -> bool:
        """True when the reply is about all messages. At RCPT and later it may be about this one (greylisting)."""
        return (self.phase == "mail" or self.is_server_wide) and self.reply.is_throttling


class NoReplyAfterData(Exception):
    """The final dot may have been sent and no clear reply came: the server may have accepted the message, or not."""
