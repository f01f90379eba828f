"""Ten outages, alone and in pairs, in the operators' overview in a browser: after how many seconds it names them, in
which order, with which next act, and how long after their end. `make storm` prints the table."""

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pytest
from playwright.sync_api import Browser

from tests.conftest import missing
from tests.imap import dovecot
from tests.process.installation import Installation, Look, Sentence, installation
from tests.process.outages import NOTICE, OUTAGES, SECONDS, Outage

FULL = os.environ.get("SNOOZER_STORM") == "1"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.dovecot,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not FULL, reason="minutes of outages: make storm"),
]

# How long an outage lasts: longer than any wait of ours for a server.
LONG = float(os.environ.get("SNOOZER_OUTAGE_SECONDS", "75"))
SHORT = 14.0
# A measurement is given up after so much more than the limit.
MORE_SECONDS = 60.0
# It is over once nothing was named for so long.
QUIET = 4.0
NAMED = {outage.name: outage for outage in OUTAGES}
PAIRS = list(combinations(OUTAGES, 2))
# By outage and the outage that it hides: the reason.
NO_FIGURES = "without the database nothing is known of the rest"
NOT_ASKED = "no worker asks the mail server while nothing is sent"
HIDDEN = {
    **{("database frozen and killed", name): NO_FIGURES for name in NAMED if name != "database frozen and killed"},
    ("stopped by an operator", "mail server frozen"): NOT_ASKED,
    ("stopped by an operator", "mail server refusing"): NOT_ASKED,
    ("everything paused", "mail server frozen"): NOT_ASKED,
    ("everything paused", "mail server refusing"): NOT_ASKED,
    ("lock", "mail server frozen"): NOT_ASKED,
    ("lock", "mail server refusing"): NOT_ASKED,
    ("mail server frozen", "mail server refusing"): "a frozen server refuses nothing",
}
# The first must be over before the second can be ended.
BEFORE = {("lock", "everything paused"), ("mail server frozen", "mail server refusing")}
TABLE: list[str] = []


@dataclass
class Record:
    """The looks at the page during one or two outages."""

    outages: Sequence[Outage]
    began: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    looks: list[Look] = field(default_factory=list)

    def first(self, outage: Outage) -> tuple[float, Sentence] | None:
        """The first time that it was named, and how."""
        return next(((look.at, one) for look in self.looks for one in look.sentences if outage.is_named_by(one)), None)

    def last(self, outage: Outage) -> float:
        return max((look.at for look in self.looks if says(look, outage)), default=0.0)

    @property
    def is_shared(self) -> bool:
        """Whether one sentence says both."""
        return len({one.says for one in self.outages}) < len(self.outages)

    def end_of(self, outage: Outage) -> float:
        return max(self.ended.values()) if self.is_shared else self.ended[outage.name]


def says(look: Look, outage: Outage) -> bool:
    return any(outage.is_named_by(one) for one in look.sentences)


def hidden_by(outage: Outage, others: Sequence[Outage]) -> str | None:
    return next((why for other in others if (why := HIDDEN.get((other.name, outage.name)))), None)


def in_order_of_end(outages: Sequence[Outage], *, last_first: bool) -> list[Outage]:
    """The second outage of a pair ends first if it must, or if `last_first` is set and it may."""
    ordered = sorted(outages, key=lambda one: one.depth)
    names = [one.name for one in ordered]
    must = tuple(reversed(names)) in BEFORE or "database frozen and killed" in names[1:]
    return ordered[::-1] if must or (last_first and tuple(names) not in BEFORE) else ordered


def suffer(here: Installation, outages: Sequence[Outage], *, seconds: float, last_first: bool = False) -> Record:
    """The outages begin one after the other, last so long and until they are named, and end."""
    here.settle()
    record = Record(outages)
    for outage in outages:
        outage.prepare(here)
    try:
        for outage in sorted(outages, key=lambda one: one.depth):
            record.began[outage.name] = time.monotonic()
            outage.begin(here)
        _watch_until_named(here, record, seconds=seconds)
    finally:
        for outage in in_order_of_end(outages, last_first=last_first):
            outage.prepare_end(here)
            outage.end(here)
            record.ended[outage.name] = time.monotonic()
    over = quiet_since = time.monotonic()
    while (now := time.monotonic()) - quiet_since < QUIET and now - over < MORE_SECONDS:
        record.looks.append(look := here.look())
        if any(says(look, one) for one in OUTAGES):
            quiet_since = look.at
    return record


def _watch_until_named(here: Installation, record: Record, *, seconds: float) -> None:
    visible = [one for one in record.outages if hidden_by(one, record.outages) is None]
    began, longest = time.monotonic(), max(one.within for one in record.outages) + MORE_SECONDS
    while (passed := time.monotonic() - began) < seconds or not all(record.first(one) for one in visible):
        if passed > max(longest, seconds):
            return
        record.looks.append(here.look())


def faults(record: Record) -> Iterator[str]:
    for outage in record.outages:
        found = record.first(outage)
        if found is None:
            if hidden_by(outage, record.outages) is None:
                yield f"{outage.name}: never named"
            continue
        at, sentence = found
        if (took := at - record.began[outage.name]) > outage.within and hidden_by(outage, record.outages) is None:
            yield f"{outage.name}: named after {took:.1f} s"
        if not set(outage.acts) & set(sentence.acts):
            yield f"{outage.name}: offers {sentence.acts}"
        if sentence.page not in outage.pages:
            yield f"{outage.name}: leads to the page {sentence.page!r}"
        if (lasted := record.last(outage) - record.end_of(outage)) > SECONDS:
            yield f"{outage.name}: named for {lasted:.1f} s after its end"
        yield from _gaps(record, outage, since=at)
    if len(record.outages) == 2 and record.is_shared and not any(map(_says_all_workers, record.looks)):
        yield "no sentence says both"
    yield from _order(record)
    yield from _false(record)
    yield from _stale(record)


def _says_all_workers(look: Look) -> bool:
    return any(re.search("All 2 workers|No worker", one.text) for one in look.sentences)


def _gaps(record: Record, outage: Outage, *, since: float) -> Iterator[str]:
    """It is named until it ends, unless the other hides it."""
    lasting = [look for look in record.looks if since <= look.at < record.ended[outage.name]]
    silent = [look for look in lasting if not says(look, outage)]
    if silent and hidden_by(outage, record.outages) is None:
        yield f"{outage.name}: not named in {len(silent)} of {len(lasting)} looks, such as {texts(silent[0])}"


def _order(record: Record) -> Iterator[str]:
    wrong = []
    for look in record.looks:
        harms = [harm for one in look.sentences if (harm := _harm(one, record.outages)) is not None]
        if harms != sorted(harms):
            wrong.append(look)
    if wrong:
        yield f"not worst first in {len(wrong)} of {len(record.looks)} looks, such as {texts(wrong[0])}"


def _harm(sentence: Sentence, outages: Sequence[Outage]) -> int | None:
    harm = next((one.harm for one in outages if one.is_named_by(sentence)), None)
    # A lost worker that held nothing hurts no reminder.
    return NOTICE if "held nothing" in sentence.text else harm


def _false(record: Record) -> Iterator[str]:
    patterns = {one.says for one in record.outages}
    others = {one.says: one for one in OUTAGES if one.says not in patterns}.values()
    for other in others:
        wrong = [look for look in record.looks if says(look, other)]
        if wrong:
            yield f"{other.name}: named falsely for {wrong[-1].at - wrong[0].at:.1f} s, as {texts(wrong[0])}"


def _stale(record: Record) -> Iterator[str]:
    """Figures that are old are grey, and new ones follow the end of an outage."""
    wrong = [look for look in record.looks if not look.is_grey and look.figures_age > SECONDS]
    if wrong:
        age = max(look.figures_age for look in wrong)
        yield f"figures that are up to {age:.0f} s old are shown as new ones in {len(wrong)} looks"


def texts(look: Look) -> list[str]:
    return [one.text for one in look.sentences]


def note(record: Record) -> list[str]:
    """One line of the table for each outage; returns what is wrong."""
    wrong = list(faults(record))
    title = " + ".join(one.name for one in record.outages)
    for outage in record.outages:
        found, why = record.first(outage), hidden_by(outage, record.outages)
        after, text, act, gone = "never", why or "", "", ""
        if found is not None:
            at, sentence = found
            after, text, act = f"{at - record.began[outage.name]:.1f} s", sentence.text, ", ".join(sentence.acts)
            gone = f"{max(record.last(outage) - record.end_of(outage), 0.0):.1f} s"
        line = f"| {title} | {outage.name} | {after} | {text} | {act} | {gone} |"
        TABLE.append(line)
        print(line, flush=True)
    for other in sorted({one.text for look in record.looks for one in look.sentences if _is_other(one)}):
        print(f"  also: {other}", flush=True)
    for one in wrong:
        print(f"  WRONG {one}", flush=True)
    return wrong


def _is_other(sentence: Sentence) -> bool:
    return not sentence.text.startswith("All is well") and not any(one.is_named_by(sentence) for one in OUTAGES)


@pytest.fixture(scope="module")
def here(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    if not dovecot.is_installed():
        missing("dovecot-imapd")
    with installation(chromium, tmp_path_factory.mktemp("outages")) as here:
        yield here
    print("\n| outages | outage | named after | named as | next act | gone after |\n|---|---|---|---|---|---|")
    print("\n".join(TABLE), flush=True)


@pytest.mark.parametrize("name", list(NAMED))
def test_an_outage_alone(name: str, here: Installation) -> None:
    assert note(suffer(here, [NAMED[name]], seconds=LONG)) == []


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " + ".join(one.name for one in pair))
def test_two_outages(pair: tuple[Outage, Outage], here: Installation) -> None:
    assert note(suffer(here, pair, seconds=SHORT, last_first=PAIRS.index(pair) % 2 == 1)) == []
