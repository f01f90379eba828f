"""A person's own presets as rows of a form: changed, moved, checked by the grammar, and kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from werkzeug.datastructures import MultiDict

from snoozer import snoozing, timephrase
from snoozer.snoozing import SnoozeError
from snoozer.timephrase.locales import Locale
from snoozer.web.forms import one_line
from snoozer.web.text.time_format import Clock

MOST = 12
LONGEST_LABEL = 40

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One preset as it stands in the form: what its phrase means at this moment (None: nothing now), or why it
    cannot be one."""

    label: str
    phrase: str
    reading: timephrase.ParsedTime | None = None
    refusal: SnoozeError | None = None


def usual_ones(locale: str) -> tuple[Pair, ...]:
    """The presets of the language."""
    return Locale.named(locale).language.data.presets


def lines_of(pairs: Sequence[Pair], *, clock: Clock) -> tuple[Line, ...]:
    """The presets, each read."""
    return tuple(_read(Line(label=label, phrase=phrase), clock) for label, phrase in pairs)


def posted(form: MultiDict[str, str], *, clock: Clock) -> tuple[Line, ...]:
    """The form's lines with what its button asks done: up, down or away with one of them. Empty lines fall out."""
    labels, phrases = form.getlist("label"), form.getlist("phrase")
    pairs = [
        (one_line(label, longest=LONGEST_LABEL) or "", phrase.strip())
        for label, phrase in zip(labels, phrases, strict=False)
    ][: MOST + 1]
    act, _, place = form.get("act", "").partition(":")
    at = int(place) if place.isascii() and place.isdigit() and len(place) < 3 else len(pairs)
    if at < len(pairs):
        other = {"up": at - 1, "down": at + 1}.get(act, at)
        if 0 <= other < len(pairs):
            pairs[at], pairs[other] = pairs[other], pairs[at]
        if act == "remove":
            del pairs[at]
    filled = [
        (label or snoozing.clean_phrase(phrase)[:LONGEST_LABEL], phrase) for label, phrase in pairs if label or phrase
    ]
    return lines_of(filled[:MOST], clock=clock)


def pairs_of(lines: Sequence[Line]) -> tuple[Pair, ...]:
    """What is kept of lines without a refusal."""
    return tuple((line.label, snoozing.clean_phrase(line.phrase)) for line in lines)


def _read(line: Line, clock: Clock) -> Line:
    try:
        reading = snoozing.parse_preset(line.phrase, now=clock.now, zone=clock.zone, locale=clock.locale)
    except SnoozeError as refusal:
        return replace(line, refusal=refusal)
    return replace(line, reading=reading)
