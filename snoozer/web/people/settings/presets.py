"""A person's own presets as rows of a form: moved, removed, parsed, and saved."""

from collections.abc import Sequence
from dataclasses import dataclass

from werkzeug.datastructures import MultiDict

from snoozer.snoozes import input
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.locales import Locale
from snoozer.timephrase.result import ParsedTime
from snoozer.web.forms import one_line
from snoozer.web.text.time_format import TimeFormatter

MAX_PRESETS = 12
MAX_LABEL_LENGTH = 40

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class PresetRow:
    """One preset in the form. `reading` is the current meaning of its phrase, None if it has none at this hour."""

    label: str = ""
    phrase: str = ""
    reading: ParsedTime | None = None
    error: SnoozeError | None = None


def default_presets(locale: str) -> tuple[Pair, ...]:
    """Returns the presets of the locale's language as (label, phrase)."""
    return Locale.named(locale).language.data.presets


def preset_rows(pairs: Sequence[Pair], *, times: TimeFormatter) -> tuple[PresetRow, ...]:
    """Returns a row for each (label, phrase), parsed."""
    return tuple(_parse(label, phrase, times) for label, phrase in pairs)


def read_submission(posted: MultiDict[str, str], *, times: TimeFormatter) -> tuple[PresetRow, ...]:
    """Returns the posted rows after the pressed button was applied to its row: up, down or remove. Skips empty rows.
    rows."""
    labels, phrases = posted.getlist("label"), posted.getlist("phrase")
    pairs = [
        (one_line(label, max_length=MAX_LABEL_LENGTH) or "", phrase.strip())
        for label, phrase in zip(labels, phrases, strict=False)
    ][: MAX_PRESETS + 1]
    act, _, index = posted.get("act", "").partition(":")
    at = int(index) if index.isascii() and index.isdigit() and len(index) < 3 else len(pairs)
    if at < len(pairs):
        other = {"up": at - 1, "down": at + 1}.get(act, at)
        if 0 <= other < len(pairs):
            pairs[at], pairs[other] = pairs[other], pairs[at]
        if act == "remove":
            del pairs[at]
    filled = [(label or input.clean_phrase(phrase)[:MAX_LABEL_LENGTH], phrase) for label, phrase in pairs]
    return preset_rows([pair for pair in filled if any(pair)][:MAX_PRESETS], times=times)


def _parse(label: str, phrase: str, times: TimeFormatter) -> PresetRow:
    try:
        reading = input.parse_preset(phrase, now=times.now, zone=times.zone, locale=times.locale, own=times.own)
    except SnoozeError as error:
        return PresetRow(label=label, phrase=phrase, error=error)
    return PresetRow(label=label, phrase=phrase, reading=reading)
