"""The sender of the mails, and the key that signs them, as settings."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, field_validator

from snoozer.mail import headers

if TYPE_CHECKING:
    from snoozer.mail.dkim import Signer

_SELECTOR = re.compile(
    r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*", re.IGNORECASE
)


class SenderSettings(BaseModel):
    """The sender of all mails; the private key of its domain and the name under which the public one is in the DNS."""

    mail_from: str = Field(default="", alias="MAIL_FROM")
    dkim_key_file: Path | None = Field(default=None, alias="SNOOZER_DKIM_KEY_FILE")
    dkim_selector: str = Field(default="", alias="SNOOZER_DKIM_SELECTOR")

    @field_validator("dkim_selector")
    @classmethod
    def _dkim_selector(cls, value: str) -> str:
        if value and not _SELECTOR.fullmatch(value):
            raise ValueError("SNOOZER_DKIM_SELECTOR is a name of the DNS, such as snoozer1")
        return value

    @property
    def signer(self) -> "Signer | None":
        """The signer of mails; None if no key is set. Raises ValueError if the key cannot sign."""
        if self.dkim_key_file is None or not self.dkim_selector:
            if self.dkim_key_file is not None or self.dkim_selector:
                raise ValueError("SNOOZER_DKIM_KEY_FILE and SNOOZER_DKIM_SELECTOR belong together: set both or neither")
            return None
        # Imported here, because cryptography doubles the time of reading settings.
        from snoozer.mail import dkim

        domain = headers.mail_from_domain(self.mail_from)
        return dkim.signer(self.dkim_key_file, domain=domain, selector=self.dkim_selector)

    @property
    def sign(self) -> Callable[[bytes], bytes]:
        """A function that returns a mail with its signature, or as it is if no key is set."""
        return bytes if self.signer is None else self.signer.sign

    def check_sender(self) -> None:
        """Raises ValueError, one sentence for people, if no mail can be sent with these settings."""
        headers.validate_mail_from(self.mail_from)
        _ = self.signer
