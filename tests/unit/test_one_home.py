"""Each concept has one home; this lists it, and fails for a second one.

Readers select the state of a snooze and its promise from functions of the database. Conditions for an index repeat a
part of these; tests/db/test_state.py compares them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "snoozer"
TEMPLATES = PACKAGE.parent / "templates"


@dataclass(frozen=True, kw_only=True)
class Concept:
    """`text` decides it, and stands in its `homes` alone. Files in `others` still repeat it, and may stop."""

    text: re.Pattern[str]
    homes: frozenset[str]
    others: frozenset[str] = field(default=frozenset())


CONCEPTS = {
    # `bisect`. The batches of the pipeline are of several transactions.
    "finding the row that fails by halving": Concept(
        text=re.compile(r"middle = len\("),
        homes=frozenset({"db/bisection.py"}),
        others=frozenset({"delivery/settling.py"}),
    ),
    # The function `snooze_promise`; rows of the archive have another type than it takes.
    "the promise": Concept(
        text=re.compile(r"(coalesce\(\s*(\w+\.)?scheduled_for,|scheduled_for or)\s*(\w+\.)?remind_at", re.I),
        homes=frozenset({"db/models/state.py", "db/sql/people/imports.sql", "db/sql/functions/snooze_promise.sql"}),
        # Triggers compare the columns of two rows.
        others=frozenset(
            {
                *("web/mailboxes/mail/pages.py", "mailboxes/mail/_row.html", "db/sql/functions/snooze_return_at.sql"),
                *("db/sql/functions/email_snoozes_inserted.sql", "db/sql/functions/email_snoozes_move_return.sql"),
                *("db/sql/functions/email_snoozes_note_update.sql", "db/sql/functions/email_snoozes_promise.sql"),
                "db/sql/functions/email_snoozes_webhook_update.sql",
            }
        ),
    ),
    # `DateFormat`. The homes write for programs: fields of forms, the API, IMAP, file names and tables of a terminal.
    "writing dates and hours": Concept(
        text=re.compile(r"strftime|:%[HYMBA]"),
        homes=frozenset(
            {
                *("web/snoozes/day_shape/forms.py", "web/operators/case_forms.py", "web/api/models/settings.py"),
                *("web/people/personal_data/routes.py", "mailboxes/imap/messages.py", "cli/account.py", "cli/token.py"),
                "dev/samples.py",
            }
        ),
    ),
    "names of months": Concept(
        text=re.compile(r"['\"]Feb(ruary)?['\"]"),
        homes=frozenset({"timephrase/date_format.py", "mailboxes/imap/messages.py"}),
    ),
    # The function `snooze_due_at`.
    "when a snooze is due": Concept(
        text=re.compile(r"greatest\((coalesce\(|promised_time|snooze_promise)", re.I),
        homes=frozenset({"db/models/state.py", "db/sql/functions/snooze_due_at.sql"}),
    ),
    # The function `snooze_state`.
    "the state, in Python": Concept(
        text=re.compile(r"\b(row|alive|found|late)\.(inactive|claimed_at)\b"),
        # These show since when it is claimed.
        homes=frozenset({"web/operators/case_timeline.py", "web/operators/explain.py"}),
        others=frozenset(
            {
                *("operators/row_acts.py", "mailboxes/sync/seeking.py", "snoozes/engine.py"),
            }
        ),
    ),
    "the state, in SQL": Concept(
        text=re.compile(r"\bwhen (not )?(\w+\.)?(inactive|claimed_at is|outcome is|outcome =)", re.I),
        # `change_many` asks whether the row is revived, for the replies that count.
        homes=frozenset({"db/sql/functions/snooze_state.sql", "db/sql/queue/change_many.sql"}),
        # Triggers ask what a change was.
        others=frozenset(
            {"db/sql/functions/email_snoozes_move_return.sql", "db/sql/functions/email_snoozes_webhook_update.sql"}
        ),
    ),
    # The claim's predicate, inline for its indexes: a claim and what looks ahead of it.
    "whether attempts are left": Concept(
        text=re.compile(r"attempts (<|>=) (\w+\.)?max_attempts"),
        homes=frozenset(
            {
                *("db/models/state.py", "db/models/snooze.py", "db/sql/operators/minutes/record.sql"),
                *("db/sql/functions/snooze_state.sql", "db/sql/functions/email_snoozes_enter.sql"),
                "db/sql/views/invariant_due_is_taken.sql",
                *("db/sql/queue/claim.sql", "db/sql/queue/advance_keys.sql", "db/sql/queue/retire.sql"),
                *("db/sql/queue/peek/next_due.sql", "db/sql/queue/peek.sql", "db/sql/queue/peek.sql"),
            }
        ),
    ),
    "an act that cancels": Concept(
        text=re.compile(r"set outcome = 'cancelled'|outcome=(\"cancelled\"|.* else \"cancelled\")", re.I),
        homes=frozenset({"snoozes/acts.py", "operators/row_acts.py"}),
    ),
    "a new promise begins": Concept(
        text=re.compile(r"^\s*(set )?crash_count = (0,|case )", re.I | re.M),
        # For operators, who have it tried afresh. The trigger `email_snoozes_promise` begins a promise.
        homes=frozenset({"db/sql/queue/change_many.sql"}),
    ),
    "a limit of a snooze": Concept(
        text=re.compile(
            r"^(DEFAULT_MAX_ATTEMPTS|MAX_(ATTEMPTS|CRASHES|RESENDS|NOTE_LENGTH|CHOSEN|GATHERED)|MIN_REFUSALS)\w* =",
            re.M,
        ),
        homes=frozenset({"queue/limits.py"}),
    ),
    # Checked when the connection is open: that the claim is held, and for a push that its mark is committed.
    "a request that the ledger authorises": Concept(
        text=re.compile(r"\bbefore_sending="),
        homes=frozenset({"notify/http_sender.py"}),
    ),
    "why a claim is given back": Concept(
        text=re.compile(r"\bqueue\.(defer|rest|set_aside|pauses|deferrals)\("),
        homes=frozenset({"delivery/holds.py"}),
    ),
    # The function `was_sent`.
    "whether it was sent": Concept(
        text=re.compile(r"[\"']perhaps[\"']"),
        homes=frozenset({"db/state_words.py", "web/operators/explain.py", "web/text/status.py"}),
    ),
}


def files() -> Iterator[tuple[str, str]]:
    for folder in (PACKAGE, TEMPLATES):
        for path in folder.rglob("*"):
            if path.suffix in {".py", ".sql", ".html"}:
                yield path.relative_to(folder).as_posix(), path.read_text()


def places(concept: Concept) -> set[str]:
    """The files that decide it; a file in a folder of `others` counts as that folder."""
    found = {name for name, code in files() if concept.text.search(code)}
    return {next((other for other in concept.others if name.startswith(f"{other}/")), name) for name in found}


@pytest.mark.parametrize("name", CONCEPTS)
def test_a_concept_stands_in_its_home(name: str) -> None:
    concept = CONCEPTS[name]
    assert places(concept) - concept.others == concept.homes
