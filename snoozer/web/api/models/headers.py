"""Headers of requests."""

from pydantic import BaseModel, Field

_KEY = (
    "A request that is repeated with the same key and body within a day is done once and answered alike, with "
    "Idempotency-Replayed: true. The same key with another body is refused with 422."
)


class IdempotencyHeaders(BaseModel):
    """Headers of a request that may be repeated."""

    key: str | None = Field(
        None, alias="Idempotency-Key", min_length=1, max_length=255, pattern="^[ -~]+$", description=_KEY
    )


class ChangeHeaders(BaseModel):
    """Headers of a request that changes what is there."""

    if_match: str | None = Field(
        None,
        alias="If-Match",
        pattern="^[ -~]+$",
        description="ETags of which one must be that of the present state, or * for any; else nothing is done (412).",
    )


class ActHeaders(ChangeHeaders, IdempotencyHeaders):
    """Headers of an act on what is there."""


class ReadHeaders(BaseModel):
    """Headers of a request that reads."""

    if_none_match: str | None = Field(
        None,
        alias="If-None-Match",
        pattern="^[ -~]+$",
        description="ETags of answers that are known: where one is that of the present answer, it is an empty 304.",
    )
