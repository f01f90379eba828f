"""The form of a day's shape: a posted form becomes a shape, or an error at a field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time

from werkzeug.datastructures import MultiDict

from snoozer.timephrase.day_shape import WEEKDAYS, DayShape, DayShapeError
from snoozer.translations import gettext as _

TIMES = ("work_from", "work_until", "quiet_from", "quiet_until", "quiet_until_off")
DATES = ("away_from", "back_on")
GATHERS_OVER = "gathers_over"
REVIEW_ON = "review_on"
FIELDS = (*TIMES, *DATES, GATHERS_OVER, REVIEW_ON)


@dataclass(frozen=True, kw_only=True)
class DayForm:
    """The fields' values as typed, and the error at a field, if any."""

    values: Mapping[str, str]
    working_days: frozenset[int]
    rests_on_days_off: bool
    error: DayShapeError | None = None

    @property
    def seen(self) -> str:
        """The values for which a preview was shown."""
        days = "".join(map(str, sorted(self.working_days)))
        return "|".join([days, *(self.values[name] for name in FIELDS), str(self.rests_on_days_off)])


def open_form(shape: DayShape, *, today: date) -> DayForm:
    """Returns the form with this shape, without a vacation that is over."""
    if shape.back_on is not None and shape.back_on < today:
        shape = replace(shape, away_from=None, back_on=None)
    times: dict[str, time | None] = {name: getattr(shape, name) for name in TIMES}
    dates: dict[str, date | None] = {name: getattr(shape, name) for name in DATES}
    return DayForm(
        values={name: f"{at:%H:%M}" if at else "" for name, at in times.items()}
        | {name: day.isoformat() if day else "" for name, day in dates.items()}
        | {GATHERS_OVER: str(shape.gathers_over or ""), REVIEW_ON: str(shape.review_on)},
        working_days=shape.working_days,
        rests_on_days_off=shape.rests_on_days_off,
    )


def read_submission(posted: MultiDict[str, str], *, today: date) -> tuple[DayForm, DayShape | None]:
    """Returns the form as it was posted, and the shape; None with an error at a field."""
    form = DayForm(
        values={name: posted.get(name, "").strip()[:40] for name in FIELDS},
        working_days=_read_days(posted.getlist("working_day")),
        rests_on_days_off=posted.get("rests_on_days_off") == "on",
    )
    try:
        return form, read_shape(form, today=today)
    except DayShapeError as error:
        return replace(form, error=error), None


def read_shape(form: DayForm, *, today: date) -> DayShape:
    """Returns the shape in this form. Raises DayShapeError with the field to correct."""
    values = form.values
    shape = DayShape(
        working_days=form.working_days,
        work_from=_required("work_from", _read_time("work_from", values["work_from"])),
        work_until=_required("work_until", _read_time("work_until", values["work_until"])),
        quiet_from=_read_time("quiet_from", values["quiet_from"]),
        quiet_until=_read_time("quiet_until", values["quiet_until"]),
        quiet_until_off=_read_time("quiet_until_off", values["quiet_until_off"]),
        rests_on_days_off=form.rests_on_days_off,
        away_from=_read_date("away_from", values["away_from"]),
        back_on=_read_date("back_on", values["back_on"]),
        gathers_over=_read_number(GATHERS_OVER, values[GATHERS_OVER]),
        review_on=_read_weekday(values[REVIEW_ON]),
    )
    shape.check()
    if shape.back_on is not None and shape.back_on < today:
        raise DayShapeError("back_on", _("That vacation is over. Leave both days empty, or give the next one."))
    return shape


def _read_days(numbers: Sequence[str]) -> frozenset[int]:
    return frozenset(day for day in WEEKDAYS if str(day) in numbers)


def _read_weekday(text: str) -> int:
    """The weekday, or 0 for none. A form of an earlier release has none, which means the usual one."""
    return next((day for day in WEEKDAYS if str(day) == text), 0) if text else DayShape.review_on


def _read_time(field: str, text: str) -> time | None:
    if not text:
        return None
    try:
        at = time.fromisoformat(text)
    except ValueError:
        raise DayShapeError(field, _("Give a time such as 22:00.")) from None
    return at.replace(second=0, microsecond=0, tzinfo=None)


def _read_number(field: str, text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise DayShapeError(field, _("Give a number from 3 to 50, or leave it empty for single mails."))
    return int(text)


def _required(field: str, at: time | None) -> time:
    if at is None:
        raise DayShapeError(field, _("Give a time such as 09:00."))
    return at


def _read_date(field: str, text: str) -> date | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise DayShapeError(field, _("Give a day such as 2027-01-04.")) from None
    if not 1970 <= day.year <= 9000:
        raise DayShapeError(field, _("Give a day of this age."))
    return day
