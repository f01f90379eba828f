"""Headers of requests."""

from pydantic import BaseModel, Field


class IdempotencyHeaders(BaseModel):
    """Headers of a request that may be repeated."""

    key: str | None = Field(
        None,
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern="^[ -~]+$",
        description="A request that is repeated with the same key and body within a day is done once and answered "
        "alike, with Idempotency-Replayed: true. The same key with another body is refused with 422.",
    )
