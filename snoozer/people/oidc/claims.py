"""The result of a sign-in at an organisation's provider."""

from dataclasses import dataclass
from typing import Literal

# Why a sign-in failed: the provider is away or misconfigured, refused the code, or its token is not valid for us.
Code = Literal["away", "configuration", "refused", "token"]

# The largest age of a fresh sign-in.
FRESH_SECONDS = 600


class OidcError(Exception):
    """The sign-in failed. The text is for the log: which check failed, without anything of a token."""

    def __init__(self, code: Code, problem: str) -> None:
        super().__init__(problem)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Claims:
    """The person who signed in. `email` is None unless the provider says that it is verified. `is_fresh` is True if the
    person showed credentials there within FRESH_SECONDS, and False if only a session there identified them."""

    issuer: str
    subject: str
    email: str | None
    groups: tuple[str, ...]
    is_fresh: bool
