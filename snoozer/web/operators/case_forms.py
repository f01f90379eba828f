"""The filter of the list of cases: parsed from a URL or a form, and shown in the form above the list."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from flask import abort
from sqlalchemy import Connection

from snoozer.db.queries import case_search
from snoozer.db.queries.case_filter import Filter, InvalidFilter
from snoozer.timephrase.zones import zone_or_utc
from snoozer.web.text.time_format import TimeFormatter

# By the names of the URL's parameters.
CLASS_WORDS = {
    "5xx": "refused for good (5xx)",
    "4xx": "refused for now (4xx)",
    "uncertain": "may have been sent",
    "lost": "its worker was lost",
    "other": "anything else",
}
SHORT_CLASS_WORDS = {"5": "5xx", "4": "4xx", "a": "uncertain", "b": "lost", "0": "other"}
SPANS = {
    "1h": "the last hour",
    "1d": "the last 24 hours",
    "7d": "the last 7 days",
    "30d": "the last 30 days",
    "90d": "the last 90 days",
}


def selected(given: Mapping[str, str]) -> Filter:
    """Returns the filter of the URL; 400, with an explanation, for an invalid field."""
    try:
        return Filter.from_args(given)
    except InvalidFilter as error:
        abort(400, str(error))


def read(connection: Connection, form: Mapping[str, str], *, times: TimeFormatter) -> Filter:
    """The filter in the form. Raises InvalidFilter with a sentence for the person who typed it.

    Hidden fields hold the URL's parameters that have no field in the form: an error, a person, a message.
    """
    given = dict(Filter.from_args(form).as_args())
    if form.get("within"):
        given["since"] = form["within"]
    for name, typed in (("since", "earliest"), ("until", "latest")):
        if form.get(typed):
            given[name] = _instant(form[typed], zone=times.zone)
    if whom := form.get("whom", "").strip():
        given["person"] = str(_person(connection, whom).person)
    return Filter.from_args(given)


def shown(filter: Filter, *, times: TimeFormatter, typed: Mapping[str, str] | None = None) -> dict[str, str]:
    """The values of the form's fields: the typed text, or this filter, with times in the operator's zone."""
    written = filter.as_args()
    fields = {name: written.get(name, "") for name in ("class", "domain")} | {"whom": "", "earliest": "", "latest": ""}
    fields["within"] = written.get("since", "") if isinstance(filter.since, timedelta) else ""
    for name, moment in (("earliest", filter.since), ("latest", filter.until)):
        if isinstance(moment, datetime):
            fields[name] = f"{times.local(moment):%Y-%m-%dT%H:%M}"
    fields |= {name: typed[name] for name in fields if typed and name in typed}
    # Add a time span from the URL as a choice if the form does not have it.
    return fields | {"other_span": "" if fields["within"] in SPANS else fields["within"]}


def _instant(wall: str, *, zone: str) -> str:
    try:
        local = datetime.fromisoformat(wall)
        return local.replace(tzinfo=local.tzinfo or zone_or_utc(zone)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        raise InvalidFilter("A time is a day and an hour, such as 2026-03-05T08:00.") from None


def _person(connection: Connection, typed: str) -> Filter:
    """Finds a person by a full address, or by the number of a snooze of theirs."""
    number = typed.removeprefix("#")
    if number.isascii() and number.isdigit():
        found = Filter.from_args({"person": number})
        if case_search.email_of(connection, found) is not None:
            return found
        raise InvalidFilter("There is no snooze with that number.")
    by_address = case_search.person(connection, typed) if "@" in typed else None
    if by_address is None:
        raise InvalidFilter("No snooze is of a person with that address. Type it in full, or a snooze's number.")
    return by_address
