"""Many snoozes at once, with a result for each."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field, RootModel, SkipValidation, model_validator
from pydantic_core import PydanticCustomError

from snoozer.queue.limits import MAX_CHOSEN
from snoozer.web.api.models.fields import Request, whole
from snoozer.web.api.models.problem import Problem
from snoozer.web.api.models.snoozes import NewSnooze, Snooze, Times

_Id = Annotated[int, *whole(1, 2**63 - 1)]


def _list(value: object) -> object:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_CHOSEN:
        raise PydanticCustomError("bad_list", f"must be a list of 1 to {MAX_CHOSEN}.")
    return value


def _ids(value: object) -> object:
    ids = _list(value)
    if isinstance(ids, list) and any(type(id) is not int or not 0 < id < 2**63 for id in ids):
        raise PydanticCustomError("bad_ids", "must be ids of snoozes.")
    if isinstance(ids, list) and len(set(ids)) < len(ids):
        raise PydanticCustomError("bad_ids", "must name each snooze once.")
    return value


Ids = Annotated[list[_Id], BeforeValidator(_ids), Field(min_length=1, max_length=MAX_CHOSEN)]


class BulkCreate(Request):
    """New snoozes, each as POST /snoozes takes it."""

    act: Literal["create"]
    snoozes: Annotated[
        list[SkipValidation[NewSnooze]], BeforeValidator(_list), Field(min_length=1, max_length=MAX_CHOSEN)
    ]


class BulkReschedule(Times):
    """The same new time for several snoozes. Undeliverable snoozes are snoozed again; paused ones are resumed."""

    act: Literal["reschedule"]
    ids: Ids

    _check_time = model_validator(mode="after")(Times.check_one_time)


class BulkAct(Request):
    """An act on each of these snoozes."""

    act: Literal["wake", "cancel", "done", "skip", "pause", "resume"]
    ids: Ids


class Bulk(
    RootModel[BulkCreate | BulkReschedule | BulkAct],
    json_schema_extra={
        "examples": [
            {"act": "create", "snoozes": [{"subject": "Offer", "when": "tomorrow 8am"}]},
            {"act": "reschedule", "ids": [1, 2], "when": "monday 9am"},
            {"act": "cancel", "ids": [1, 2]},
        ]
    },
):
    """One act on up to 500 snoozes."""


class BulkResult(BaseModel):
    """The result for one snooze: the status of a request for it alone, and the snooze or the problem."""

    status: int
    id: int | None = Field(None, json_schema_extra={"format": "int64"})
    snooze: Snooze | None = None
    problem: Problem | None = None


class BulkReply(BaseModel):
    """The results, in the order of the request."""

    act: str
    done: int = Field(description="How many were done; the others say why not.")
    undo: UUID | None = Field(
        description="Undoes the act, where nothing changed since: POST to /bulk/{undo}/undo. Null for create and done."
    )
    results: list[BulkResult]


class Undone(BaseModel):
    """The result of an Undo."""

    done: int
    left: dict[str, int] = Field(description="How many could not be put back, for each reason.")
    may_arrive: bool = Field(
        False, description="Whether a reminder of one that was on its way before this request may still arrive."
    )
