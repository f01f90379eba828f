"""A refusal (RFC 9457)."""

from typing import Literal

from pydantic import BaseModel, Field

from snoozer.db.state_words import State


class FieldError(BaseModel):
    field: str
    detail: str


class Problem(BaseModel, extra="allow"):
    """Problem details (RFC 9457). `code` is for programs, `detail` for people."""

    type: Literal["about:blank"]
    title: str
    status: int
    code: str = Field(examples=["invalid_fields"])
    detail: str
    errors: list[FieldError] = Field(default_factory=list, description="Each field that is wrong, and why.")
    suggestions: list[str] = Field(default_factory=list, description="At most three phrases that would have worked.")
    state: State | None = Field(None, description="With 409: where the snooze stands.")
    error: str | None = Field(None, description="With /when: the same as code.")
    message: str | None = Field(None, description="With /when: the same as detail.")
