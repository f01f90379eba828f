"""The routes of an account's own settings, with the validation of the pages.

The docstrings of the routes are published in openapi.json.
"""

from collections.abc import Callable
from datetime import date

from flask import Response
from pydantic import BaseModel
from sqlalchemy import Connection, select
from werkzeug.datastructures import MultiDict

from snoozer.db import accounts
from snoozer.db.models import Account
from snoozer.db.queries import accounts as queries
from snoozer.db.scopes import Scope
from snoozer.db.statements import database_time
from snoozer.snoozes import chosen_shape, day_shapes, zone_change
from snoozer.snoozes.day_shapes import NO_SHAPE
from snoozer.snoozes.input import clean_phrase
from snoozer.timephrase.day_shape import DayShapeError
from snoozer.web.api import preconditions
from snoozer.web.api.auth import caller
from snoozer.web.api.blueprint import ROUTE, blueprint
from snoozer.web.api.idempotency import respond
from snoozer.web.api.models.headers import ChangeHeaders, ReadHeaders
from snoozer.web.api.models.settings import (
    DayShape,
    DayShapeChange,
    Preset,
    Presets,
    PresetsChange,
    Settings,
    SettingsChange,
)
from snoozer.web.api.openapi import NOT_MODIFIED, operation
from snoozer.web.api.problems import invalid_fields
from snoozer.web.api.validation import json_object, validate
from snoozer.web.language import LOCALES
from snoozer.web.people.settings import presets as preset_form
from snoozer.web.snoozes.day_shape import forms as day_form
from snoozer.web.snoozes.day_shape.forms import DayForm
from snoozer.web.text.time_format import TimeFormatter

READ, WRITE = Scope.SETTINGS_READ, Scope.SETTINGS_WRITE


@blueprint.get("/settings")
@operation(
    "getSettings", scope=READ, headers=ReadHeaders, returns={200: (Settings, "The settings."), 304: NOT_MODIFIED}
)
def show_settings() -> Response:
    """Zone, locale and role"""
    with caller() as (_, account):
        return respond(200, _settings(account))


@blueprint.patch("/settings")
@operation(
    "changeSettings",
    scope=WRITE,
    json=SettingsChange,
    headers=ChangeHeaders,
    returns={200: (Settings, "The settings as they are now.")},
    refuses=(400, 412, 415, 422),
)
def change_settings() -> Response:
    """Another zone or locale

    With another zone, `moving` says whether times on the clock keep their instants or follow to their hours there.
    """
    with caller() as (connection, account):
        wanted = validate(SettingsChange, json_object())
        _lock(connection, account, lambda: _settings(account))
        zone, locale = wanted.zone or account.zone, wanted.locale or account.locale
        if locale not in LOCALES:
            raise invalid_fields({"locale": f"locale must be one of {', '.join(LOCALES)}."})
        now = database_time(connection)
        ahead = zone_change.preview(connection, user_email=account.email, old=account.zone, new=zone, now=now)
        if wanted.moving is None and ahead.needs_confirmation:
            sentence = "moving must be keep or follow: something asleep has a time on the clock, which this zone moves."
            raise invalid_fields({"moving": sentence})
        if wanted.moving == "follow":
            zone_change.apply(connection, ahead, old=account.zone, route=ROUTE)
        accounts.set_preferences(connection, id=account.id, zone=zone, locale=locale)
        day_shapes.refresh(connection, account_id=account.id)
        account.zone, account.locale = zone, locale
        return _answer(_settings(account))


@blueprint.get("/settings/presets")
@operation("getPresets", scope=READ, headers=ReadHeaders, returns={200: (Presets, "The presets."), 304: NOT_MODIFIED})
def show_presets() -> Response:
    """The times that are offered"""
    with caller() as (connection, account):
        return respond(200, _presets(connection, account))


@blueprint.put("/settings/presets")
@operation(
    "setPresets",
    scope=WRITE,
    json=PresetsChange,
    headers=ChangeHeaders,
    returns={200: (Presets, "The presets as they are now.")},
    refuses=(400, 412, 415, 422),
)
def set_presets() -> Response:
    """Other times that are offered, all of them"""
    with caller() as (connection, account):
        wanted = validate(PresetsChange, json_object())
        _lock(connection, account, lambda: _presets(connection, account))
        posted = MultiDict[str, str]()
        for one in wanted.presets:
            posted.add("label", one.label)
            posted.add("phrase", one.phrase)
        times = TimeFormatter(now=database_time(connection), zone=account.zone, locale=account.locale)
        rows = preset_form.read_submission(posted, times=times)
        wrong = [f"“{clean_phrase(row.phrase)[:60]}”: {row.error.message}" for row in rows if row.error]
        if wrong:
            raise invalid_fields({"presets": " ".join(wrong)})
        pairs = tuple((row.label, clean_phrase(row.phrase)) for row in rows)
        accounts.clear_presets(connection, account_id=account.id)
        if pairs != preset_form.default_presets(account.locale):
            accounts.save_presets(connection, account_id=account.id, presets=pairs)
        return _answer(_presets(connection, account))


@blueprint.delete("/settings/presets")
@operation(
    "resetPresets",
    scope=WRITE,
    headers=ChangeHeaders,
    returns={200: (Presets, "The usual times of the locale.")},
    refuses=(412,),
)
def reset_presets() -> Response:
    """The usual times again"""
    with caller() as (connection, account):
        _lock(connection, account, lambda: _presets(connection, account))
        accounts.clear_presets(connection, account_id=account.id)
        return _answer(_presets(connection, account))


@blueprint.get("/settings/day")
@operation("getDay", scope=READ, headers=ReadHeaders, returns={200: (DayShape, "The shape."), 304: NOT_MODIFIED})
def show_day() -> Response:
    """The shape of the day: working hours, quiet hours, a vacation"""
    with caller() as (connection, account):
        return respond(200, _day(connection, account))


@blueprint.put("/settings/day")
@operation(
    "setDay",
    scope=WRITE,
    json=DayShapeChange,
    headers=ChangeHeaders,
    returns={200: (DayShape, "The shape as it is now.")},
    refuses=(400, 412, 415, 422),
)
def set_day() -> Response:
    """Another shape of the day, all of it

    Sleeping snoozes come by it from now on; their promised times stay.
    """
    with caller() as (connection, account):
        wanted = validate(DayShapeChange, json_object())
        _lock(connection, account, lambda: _day(connection, account))
        try:
            shape = day_form.read_shape(_as_form(wanted), today=_today(connection, account))
        except DayShapeError as wrong:
            raise invalid_fields({wrong.field: wrong.message}) from None
        chosen_shape.choose(connection, account_id=account.id, shape=shape)
        return _answer(_day(connection, account))


def _as_form(wanted: DayShapeChange) -> DayForm:
    given = wanted.model_dump()
    return DayForm(
        values={name: "" if given[name] is None else str(given[name]) for name in day_form.FIELDS},
        working_days=frozenset(wanted.working_days),
        rests_on_days_off=wanted.rests_on_days_off,
    )


def _settings(account: Account) -> Settings:
    return Settings(
        email=account.email,
        verified=account.verified_at is not None,
        role=account.role,
        zone=account.zone,
        locale=account.locale,
    )


def _presets(connection: Connection, account: Account) -> Presets:
    own = queries.saved_times(connection, account_id=account.id).presets
    pairs = own or preset_form.default_presets(account.locale)
    presets = [Preset(label=label, phrase=phrase) for label, phrase in pairs]
    return Presets(presets=presets, own=own is not None)


def _day(connection: Connection, account: Account) -> DayShape:
    shape = chosen_shape.find(connection, account_id=account.id) or NO_SHAPE
    form = day_form.open_form(shape, today=_today(connection, account))
    texts = {name: form.values[name] or None for name in (*day_form.TIMES, *day_form.DATES)}
    return DayShape(
        working_days=sorted(form.working_days),
        rests_on_days_off=form.rests_on_days_off,
        gathers_over=shape.gathers_over,
        review_on=shape.review_on,
        **texts,
    )


def _today(connection: Connection, account: Account) -> date:
    times = TimeFormatter(now=database_time(connection), zone=account.zone, locale=account.locale)
    return times.local(times.now).date()


def _lock(connection: Connection, account: Account, read: Callable[[], BaseModel]) -> None:
    """Locks the account, so that concurrent changes of its settings wait; raises Refused with 412 unless the current
    state matches `If-Match`."""
    row = select(Account.zone, Account.locale).where(Account.id == account.id)
    locked = connection.execute(row.with_for_update(key_share=True)).one()
    account.zone, account.locale = locked.zone, locked.locale
    preconditions.check(preconditions.body_etag(read().model_dump_json(exclude_unset=True)))


def _answer(model: BaseModel) -> Response:
    response = respond(200, model)
    return preconditions.answer(response, preconditions.body_etag(model.model_dump_json(exclude_unset=True)))
