"""Where mail comes in, as settings."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from snoozer.mail import headers


class InboundSettings(BaseModel):
    """The port or the UNIX socket for incoming mail, the domain of the addresses that act, and the host that judged who
    sent a mail."""

    inbound_host: str = Field(default="127.0.0.1", alias="SNOOZER_INBOUND_HOST")
    inbound_port: int = Field(default=8024, alias="SNOOZER_INBOUND_PORT", ge=1, le=65_535)
    inbound_protocol: Literal["lmtp", "smtp"] = Field(default="lmtp", alias="SNOOZER_INBOUND_PROTOCOL")
    inbound_socket: Path | None = Field(default=None, alias="SNOOZER_INBOUND_SOCKET")
    inbound_socket_mode: str = Field(default="660", alias="SNOOZER_INBOUND_SOCKET_MODE", pattern="^0?[0-7]{3}$")
    inbound_domain: str = Field(default="", alias="SNOOZER_INBOUND_DOMAIN")
    authserv_id: str = Field(default="", alias="SNOOZER_AUTHSERV_ID")
    inbound_separator: Literal["", "+", "-", "="] = Field(default="", alias="SNOOZER_INBOUND_SEPARATOR")

    @field_validator("inbound_domain")
    @classmethod
    def _inbound_domain(cls, value: str) -> str:
        domain = value.strip().lower().removeprefix("@")
        if domain and headers.ascii_address(f"snoozer@{domain}") != f"snoozer@{domain}":
            raise ValueError("SNOOZER_INBOUND_DOMAIN is one domain in ASCII, such as snooze.example.org")
        return domain
