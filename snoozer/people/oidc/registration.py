"""The configuration of sign-in at an organisation's provider: the settings, and the result of parsing them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, Field, SecretStr

from snoozer.db.roles import Role, parse_group_roles


@dataclass(frozen=True, kw_only=True)
class Registration:
    """Snoozer as a client of a provider. `issuer` is its address, without a slash at the end unless it has one."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str
    groups_claim: str
    allow_private: bool


class OidcSettings(BaseModel):
    """The settings for sign-in at a provider."""

    mail_sign_in: Literal["on", "off"] = Field(default="on", alias="SNOOZER_MAIL_SIGN_IN")
    oidc_issuer: str = Field(default="", alias="SNOOZER_OIDC_ISSUER")
    oidc_client_id: str = Field(default="", alias="SNOOZER_OIDC_CLIENT_ID")
    oidc_client_secret: SecretStr = Field(default=SecretStr(""), alias="SNOOZER_OIDC_CLIENT_SECRET")
    oidc_scope: str = Field(default="openid email profile", alias="SNOOZER_OIDC_SCOPE")
    oidc_groups_claim: str = Field(default="groups", alias="SNOOZER_OIDC_GROUPS_CLAIM")
    oidc_group_roles: str = Field(default="", alias="SNOOZER_OIDC_GROUP_ROLES")
    oidc_allow_private: bool = Field(default=False, alias="SNOOZER_OIDC_ALLOW_PRIVATE")

    @property
    def oidc(self) -> Registration | None:
        """The organisation's provider, None if none is configured. Raises ValueError if a part is missing."""
        parts = {
            "SNOOZER_OIDC_ISSUER": self.oidc_issuer,
            "SNOOZER_OIDC_CLIENT_ID": self.oidc_client_id,
            "SNOOZER_OIDC_CLIENT_SECRET": self.oidc_client_secret.get_secret_value(),
        }
        missing = [name for name, value in parts.items() if not value]
        if len(missing) == len(parts):
            return None
        if missing:
            raise ValueError(f"{missing[0]} is not set; a sign-in at a provider needs {', '.join(parts)}")
        schemes = ("https://", "http://") if self.oidc_allow_private else ("https://",)
        if not self.oidc_issuer.startswith(schemes) or not self.oidc_issuer.isprintable() or " " in self.oidc_issuer:
            raise ValueError("SNOOZER_OIDC_ISSUER must be an address that starts with https://")
        if "openid" not in self.oidc_scope.split():
            raise ValueError("SNOOZER_OIDC_SCOPE must contain openid")
        return Registration(
            issuer=self.oidc_issuer,
            client_id=self.oidc_client_id,
            client_secret=parts["SNOOZER_OIDC_CLIENT_SECRET"],
            scope=self.oidc_scope,
            groups_claim=self.oidc_groups_claim,
            allow_private=self.oidc_allow_private,
        )

    @property
    def oidc_roles(self) -> Mapping[str, Role]:
        """The roles for the organisation's groups. Raises ValueError."""
        try:
            return parse_group_roles(self.oidc_group_roles)
        except ValueError as error:
            raise ValueError(f"SNOOZER_OIDC_GROUP_ROLES: {error}") from None

    def check_oidc(self) -> None:
        """Raises ValueError if sign-ins are only partly configured, or if none would be possible."""
        _ = self.oidc_roles
        if self.oidc is None and self.mail_sign_in == "off":
            raise ValueError("SNOOZER_MAIL_SIGN_IN is off, and without SNOOZER_OIDC_ISSUER there is no other sign-in")
