"""The settings of an account: zone, locale, presets and the shape of its day; and its connected mailboxes."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from snoozer.db.roles import Role
from snoozer.snoozes.day_shapes import NO_SHAPE
from snoozer.timephrase.day_shape import GATHERS_OVER, WEEKDAYS
from snoozer.web.api.models.fields import LocaleName, Phrase, Request, Timestamp, Zone, text_check, whole
from snoozer.web.people.settings.presets import MAX_LABEL_LENGTH, MAX_PRESETS


class Settings(BaseModel):
    """An account's own settings."""

    email: str
    verified: bool = Field(description="Reminders go to verified addresses only.")
    role: Role
    zone: str = Field(examples=["Europe/Berlin"])
    locale: str = Field(examples=["en_GB"])


class SettingsChange(Request, json_schema_extra={"minProperties": 1, "examples": [{"zone": "Europe/Berlin"}]}):
    """Fields that are not given stay as they are."""

    zone: Zone | None = None
    locale: LocaleName | None = None
    moving: Literal["keep", "follow"] | None = Field(
        None,
        description="With another zone: whether times on the clock keep their instants, or their hours there. "
        "Needed where something asleep would move.",
    )


class Preset(BaseModel):
    """A time that is offered by a button."""

    label: str
    phrase: str


class NewPreset(Request):
    """The label is the phrase unless given."""

    label: Annotated[str, text_check(f"{MAX_LABEL_LENGTH} characters"), Field(max_length=MAX_LABEL_LENGTH)] = ""
    phrase: Phrase


class Presets(BaseModel):
    """The times that are offered, and whether they are the account's own."""

    presets: list[Preset]
    own: bool


def _few(value: object) -> object:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_PRESETS:
        raise PydanticCustomError("bad_list", f"must be a list of 1 to {MAX_PRESETS}.")
    for one in value:
        if not isinstance(one, dict) or not isinstance(one.get("phrase"), str) or not one["phrase"].strip():
            raise PydanticCustomError("bad_preset", "must hold objects with a phrase, and a label if you like.")
        if set(one) - {"label", "phrase"} or not isinstance(one.get("label", ""), str):
            raise PydanticCustomError("bad_preset", "must hold objects with a label and a phrase, and nothing else.")
    return value


class PresetsChange(
    Request, json_schema_extra={"examples": [{"presets": [{"label": "Morning", "phrase": "tomorrow 8am"}]}]}
):
    """All presets, in their order."""

    presets: Annotated[list[NewPreset], BeforeValidator(_few), Field(min_length=1, max_length=MAX_PRESETS)]


class DayShape(BaseModel):
    """The shape of a day: what comes during a rest waits for its end. Times are HH:MM on the account's clock."""

    working_days: list[int] = Field(description="Monday is 1.")
    work_from: str | None
    work_until: str | None
    quiet_from: str | None
    quiet_until: str | None
    quiet_until_off: str | None = Field(description="The end of quiet hours on days off.")
    rests_on_days_off: bool
    away_from: str | None
    back_on: str | None
    gathers_over: int | None = Field(description="From how many reminders on one mail gathers them.")
    review_on: int = Field(description="The weekday on which someday is reviewed; Monday is 1.")


def _days(value: object) -> object:
    if not isinstance(value, list) or not value or any(type(day) is not int for day in value):
        raise PydanticCustomError("bad_days", "must be a list of weekdays; Monday is 1.")
    if not set(value) <= set(WEEKDAYS) or len(set(value)) < len(value):
        raise PydanticCustomError("bad_days", "must be a list of weekdays from 1 to 7, each once; Monday is 1.")
    return value


def _written(pattern: str, example: str, message: str) -> tuple[BeforeValidator, FieldInfo]:
    """Returns a validator for a text with this pattern, which also declares the pattern in its schema."""

    def check(value: object) -> object:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
            raise PydanticCustomError("not_written_so", message)
        return value

    return BeforeValidator(check), Field(json_schema_extra={"pattern": f"^{pattern}$", "examples": [example]})


_TimeOfDay = Annotated[str, *_written(r"([01][0-9]|2[0-3]):[0-5][0-9]", "22:00", "must be a time such as 22:00.")]
_Day = Annotated[str, *_written(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "2027-01-04", "must be a day such as 2027-01-04.")]
_Weekdays = Annotated[
    list[int],
    BeforeValidator(_days),
    Field(
        description="Monday is 1.",
        json_schema_extra={
            "minItems": 1,
            "uniqueItems": True,
            "items": {"type": "integer", "minimum": min(WEEKDAYS), "maximum": max(WEEKDAYS)},
        },
    ),
]


class DayShapeChange(
    Request,
    json_schema_extra={"examples": [{"quiet_from": "22:00", "quiet_until": "07:00", "rests_on_days_off": True}]},
):
    """The whole shape of a day: fields that are not given get their defaults."""

    working_days: _Weekdays = sorted(NO_SHAPE.working_days)
    work_from: _TimeOfDay = f"{NO_SHAPE.work_from:%H:%M}"
    work_until: _TimeOfDay = f"{NO_SHAPE.work_until:%H:%M}"
    quiet_from: _TimeOfDay | None = None
    quiet_until: _TimeOfDay | None = None
    quiet_until_off: _TimeOfDay | None = Field(None, description="The end of quiet hours on days off.")
    rests_on_days_off: bool = Field(False, strict=True)
    away_from: _Day | None = Field(None, description="The first day of a vacation.")
    back_on: _Day | None = Field(None, description="The first day after a vacation.")
    gathers_over: Annotated[int, *whole(min(GATHERS_OVER), max(GATHERS_OVER))] | None = Field(
        None, description="From how many reminders on one mail gathers them."
    )
    review_on: Annotated[int, *whole(min(WEEKDAYS), max(WEEKDAYS))] = Field(
        NO_SHAPE.review_on, description="The weekday on which someday is reviewed; Monday is 1."
    )


class Mailbox(BaseModel):
    """A connected mailbox. No password, user name or token is ever returned."""

    id: int = Field(json_schema_extra={"format": "int64"})
    address: str
    host: str
    state: str = Field(description="Other states may be added.", examples=["connected"])
    problem: str | None = Field(description="What is wrong with it, by a code.")
    problem_since: Timestamp | None
    synced_at: Timestamp | None
    created_at: Timestamp
    brings_back: str = Field(description="both, return or reminder.", examples=["both"])
    snooze_flag: str | None = Field(description="The flag that snoozes a message.")
    snooze_flag_time: str | None = Field(description="The preset until which it snoozes.")


class Mailboxes(BaseModel):
    """All connected mailboxes, the first that was connected first."""

    mailboxes: list[Mailbox]
