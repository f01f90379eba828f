"""Webhooks: endpoints and their deliveries."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from snoozer.notify.webhook_message import EVENTS
from snoozer.web.api.models.fields import PageSize, Request, Timestamp, Url, sentence_error, text_check

Event = Literal["created", "edited", "due", "sent", "returned", "done", "cancelled", "stuck"]
State = Literal["waiting", "delivered", "failed"]
OffReason = Literal["gone", "failing", "key", "owner"]
MAX_NAMES = 20
Id = Annotated[int, Field(json_schema_extra={"format": "int64"})]


def _events(given: object) -> list[str]:
    if isinstance(given, list) and 0 < len(given) <= MAX_NAMES and all(name in EVENTS for name in given):
        return given
    raise PydanticCustomError("bad_events", f"is a list of one or more of {', '.join(EVENTS)}.")


Events = Annotated[
    list[Event],
    PlainValidator(_events),
    Field(
        description="What it gets.",
        json_schema_extra={
            "type": "array",
            "items": {"enum": list(EVENTS), "type": "string"},
            "minItems": 1,
            "maxItems": MAX_NAMES,
        },
    ),
]


def _id(text: object) -> int:
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 18 and int(text):
        return int(text)
    raise PydanticCustomError("bad_cursor", "is taken from `next`, unchanged.")


class NewWebhook(
    Request,
    json_schema_extra={
        "required": ["url", "events"],
        "examples": [{"url": "https://example.org/hook", "events": ["sent", "returned"]}],
    },
):
    """An endpoint. Its URL is https and names a server on the internet."""

    url: Annotated[str, text_check("1000 characters"), Field(json_schema_extra={"maxLength": 1000})] = ""
    events: Events | None = None
    subject: bool = Field(False, strict=True, description="Whether events have the subject of the message.")

    @model_validator(mode="after")
    def _is_whole(self) -> "NewWebhook":
        if not self.events:
            raise sentence_error("events", f"Give events: one or more of {', '.join(EVENTS)}.")
        return self


class WebhookChange(
    Request,
    json_schema_extra={
        "examples": [{"events": ["due"]}, {"enabled": True}],
        "anyOf": [{"required": [name]} for name in ("events", "subject", "enabled")],
    },
):
    """Fields that are not given stay as they are."""

    events: Events | None = None
    subject: bool | None = Field(None, strict=True)
    enabled: bool | None = Field(None, strict=True, description="Switches it on again, or off.")

    @model_validator(mode="after")
    def _changes_something(self) -> "WebhookChange":
        if self.events is None and self.subject is None and self.enabled is None:
            raise sentence_error("events", "Give events, subject, or enabled.")
        return self


class Webhook(BaseModel):
    """An endpoint. Its secret is shown once, when it is made."""

    id: Id
    url: str
    events: list[Event]
    subject: bool
    enabled: bool
    off_reason: OffReason | None = Field(
        description="Why it is off: it answered 410 (gone), took nothing for three days (failing), its secret cannot "
        "be read any more (key), or its owner switched it off."
    )
    off_at: Timestamp | None
    failures: int = Field(description="How often in a row it took nothing.")
    delivered_at: Timestamp | None = Field(description="When it last took something.")
    created_at: Timestamp


class WebhookSecret(Webhook):
    """An endpoint with the secret that signs from now on."""

    secret: str = Field(examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])


class Webhooks(BaseModel):
    """The owner has these endpoints."""

    webhooks: list[Webhook]


class DeliveryQuery(Request):
    """Which deliveries a page holds."""

    limit: PageSize = 50
    cursor: (
        Annotated[
            int, PlainValidator(_id), Field(json_schema_extra={"type": "string", "pattern": "^[1-9][0-9]{0,17}$"})
        ]
        | None
    ) = None


class Delivery(BaseModel):
    """One event for one endpoint, with the last try and its answer."""

    id: Id
    message_id: str = Field(description="The `webhook-id`, the same at each try.")
    type: str = Field(examples=["snooze.sent"])
    snooze_id: Annotated[int, Field(json_schema_extra={"format": "int64"})] | None
    state: State
    attempts: int
    occurred_at: Timestamp
    tried_at: Timestamp | None
    next_try_at: Timestamp | None
    body: str = Field(description="The body, as it is sent.")
    status: int | None
    reason: str | None = Field(description="Why it was not taken; null where it was.")
    answer: str | None = Field(description="The first 2,000 bytes of the last answer.")
    answer_ms: int | None


class DeliveryPage(BaseModel):
    """Sent and pending deliveries, newest first. `next` is the address of the next page."""

    deliveries: list[Delivery]
    next: Url | None
