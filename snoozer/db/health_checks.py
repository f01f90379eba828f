"""The checks of `snoozer doctor`: one function per statement in `sql/operators/health_checks`, and the views that must
be empty."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BIGINT,
    Connection,
    Constraint,
    Index,
    PrimaryKeyConstraint,
    Select,
    UniqueConstraint,
    exists,
    literal_column,
    or_,
    select,
    table,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex

from snoozer.db import definitions
from snoozer.db.models import Snooze, metadata
from snoozer.db.models.state import is_behind_key
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.db.statements import execute, rows_as

INVARIANTS = (
    "one_send_per_promise",
    "sent_stays_sent",
    "finished_has_its_send",
    "no_second_dot",
    "due_is_taken",
    "the_dead_hold_nothing",
    "messages_return",
)

# Constraints that hold invariants, besides the models' keys, checks and indexes, by table. A test compares them
# with the schema.
CHECKS = {
    "accounts": ("ck_accounts_email_is_folded", "ck_accounts_group_role", "ck_accounts_role"),
    "api_tokens": ("ck_api_tokens_name", "ck_api_tokens_scopes"),
    "audit_log": ("ck_audit_log_actor", "ck_audit_log_texts_fit", "ck_audit_log_without_addresses"),
    "feeds": ("ck_feeds_kind",),
    "email_snoozes": (
        "ck_email_snoozes_attempts",
        "ck_email_snoozes_claim_is_whole",
        "ck_email_snoozes_deferral_is_whole",
        "ck_email_snoozes_finished_is_inactive",
        "ck_email_snoozes_inactive_is_unclaimed",
        "ck_email_snoozes_names_someone",
        "ck_email_snoozes_other_times_are_of_this_age",
        "ck_email_snoozes_outcome",
        "ck_email_snoozes_outcome_is_dated",
        "ck_email_snoozes_paused_is_inactive",
        "ck_email_snoozes_time_kind",
        "ck_email_snoozes_times_are_of_this_age",
    ),
    "messages": (
        "ck_messages_aside_has_its_folder",
        "ck_messages_connected_is_whole",
        "ck_messages_folder",
        "ck_messages_intent_is_whole",
        "ck_messages_kept_is_whole",
        "ck_messages_missing_has_its_time",
        "ck_messages_moving_to",
        "ck_messages_place",
        "ck_messages_return_is_whole",
        "ck_messages_wanted",
        "ck_messages_what_stays_has_no_return",
    ),
    "operation_members": ("ck_operation_members_result", "ck_operation_members_result_is_dated"),
    "operations": (
        "ck_operations_cancelled_is_finished",
        "ck_operations_counts",
        "ck_operations_finished_is_whole",
    ),
    "pauses": (
        "ck_pauses_channel",
        "ck_pauses_class",
        "ck_pauses_end_is_whole",
        "ck_pauses_kind",
        "ck_pauses_value",
    ),
    "push_devices": ("ck_push_devices_keys", "ck_push_devices_kind"),
    "push_sends": (
        "ck_push_sends_claim_is_whole",
        "ck_push_sends_finished_is_dated",
        "ck_push_sends_sending_is_marked",
        "ck_push_sends_state",
    ),
    "reminder_sends": (
        "ck_reminder_sends_channel",
        "ck_reminder_sends_mail_is_whole",
        "ck_reminder_sends_resolution_is_whole",
        "ck_reminder_sends_sending_is_marked",
        "ck_reminder_sends_sent_is_dated",
        "ck_reminder_sends_state",
    ),
    "webhook_deliveries": (
        "ck_webhook_deliveries_claim_is_whole",
        "ck_webhook_deliveries_claimed_waits",
        "ck_webhook_deliveries_finished_is_dated",
        "ck_webhook_deliveries_state",
    ),
    "webhook_endpoints": (
        "ck_webhook_endpoints_events",
        "ck_webhook_endpoints_off_is_whole",
        "ck_webhook_endpoints_previous_is_whole",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A part of the schema that is not in force: missing, invalid, disabled, not unique or not validated."""

    table_name: str
    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name} ({self.problem})"

    @property
    def holds_an_invariant(self) -> bool:
        """Whether it does more than speed up queries: a unique index, or anything other than an index."""
        index = _indexes().get(self.name)
        return index is None or isinstance(index, UniqueConstraint) or bool(index.unique)

    @property
    def remedy(self) -> str:
        """The statement that repairs it; empty if only a migration can."""
        match self.problem:
            case "disabled":
                return f"ALTER TABLE {self.table_name} ENABLE TRIGGER {self.name};"
            case "not validated":
                return f"ALTER TABLE {self.table_name} VALIDATE CONSTRAINT {self.name};"
            case "invalid":
                return f"REINDEX INDEX CONCURRENTLY {self.name};"
        index = _indexes().get(self.name)
        if isinstance(index, UniqueConstraint):
            columns = ", ".join(column.name for column in index.columns)
            return f"ALTER TABLE {self.table_name} ADD CONSTRAINT {self.name} UNIQUE ({columns});"
        dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
        drop = f"DROP INDEX {self.name}; " if self.problem == "not unique" else ""
        return "" if index is None else f"{drop}{CreateIndex(index).compile(dialect=dialect)};"


@dataclass(frozen=True, kw_only=True)
class Server:
    """Properties of the server. `switched_off` names disabled settings without which a commit may be lost."""

    version: str
    version_number: int
    encoding: str
    read_only: bool
    switched_off: list[str]


@dataclass(frozen=True, kw_only=True)
class MailboxHealth:
    """Connected mailboxes: how many exist, are watched by no process, have a server that has not answered since
    `silent_since`, and have been unusable for minutes; and how many messages in them are overdue, with the time of the
    oldest. A process takes over from another within a minute and moves due messages: `left_alone` counts mailboxes
    unwatched for longer, `late` messages overdue for longer."""

    connected: int
    unwatched: int
    left_alone: bool
    silent: int
    silent_since: datetime | None
    failing: int
    overdue: int
    oldest: datetime | None
    late: bool


@dataclass(frozen=True, kw_only=True)
class PushHealth:
    """Devices that get pushes, how many of them are refused; the last day's pushes by their end, and how many have been
    due for minutes."""

    devices: int
    refused: int
    sent: int
    failed: int
    uncertain: int
    overdue: int


@dataclass(frozen=True, kw_only=True)
class WebhookHealth:
    """Endpoints of webhooks, how many of them fail, were switched off, and of those how many because no key opens their
    secret; the last day's deliveries by their end, and how many have been due for minutes."""

    endpoints: int
    failing: int
    switched_off: int
    unreadable: int
    delivered: int
    failed: int
    overdue: int


@dataclass(frozen=True, kw_only=True)
class Liveness:
    """Which processes run, and the work that waits. Ages are in seconds, None for never. `deferred` rows are due and of
    a schema version that this release does not know."""

    workers: int
    swept_ago: float | None
    prepared_ago: float | None
    cases: int
    long_uncertain: int
    open_breakers: int
    deferred: int


@dataclass(frozen=True, kw_only=True)
class LateReminders:
    """How many reminders are overdue (1,000 for more), and the oldest promise of those."""

    late: int
    oldest: datetime | None


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One row of an invariant's view: the snooze, the send if it concerns one, since when, and what is wrong."""

    snooze_id: int | None
    send_id: int | None
    since: datetime | None
    what: str


def set_thresholds(connection: Connection, *, lease: float, sweep: float, backoff: float) -> None:
    """Set the thresholds, in seconds, of the invariants about time until the transaction ends."""
    execute(connection, "health_checks/set_thresholds", lease=str(lease), sweep=str(sweep), backoff=str(backoff))


def server(connection: Connection) -> Server:
    """The server's version and configuration."""
    return Server(**execute(connection, "health_checks/server").one()._mapping)


def check_writable(connection: Connection) -> None:
    """Raises DBAPIError if the server is read-only."""
    execute(connection, "health_checks/check_writable")


def disabled_guards(connection: Connection) -> list[Defect]:
    """Constraints and triggers that ought to be in force and are not."""
    keys = [
        (name, str(key.name))
        for name, model in metadata.tables.items()
        for key in model.constraints
        if key.name and not isinstance(key, UniqueConstraint) and _has_columns(key)
    ]
    constraints, triggers = sorted(keys + _pairs(CHECKS)), definitions.triggers()
    values = {
        "constraint_tables": [on for on, _ in constraints],
        "constraints": [name for _, name in constraints],
        "trigger_tables": [on for on, _ in triggers],
        "triggers": [name for _, name in triggers],
    }
    return rows_as(execute(connection, "health_checks/disabled_guards", **values), Defect)


def unusable_indexes(connection: Connection) -> list[Defect]:
    """Indexes of the models and of their unique constraints that are missing, invalid, or not unique although they must
    be."""
    names, indexes = zip(*sorted(_indexes().items()), strict=True)
    tables, uniques = [str(index.table) for index in indexes], [_is_unique(name) for name in names]
    values = {"tables": tables, "names": list(names), "uniques": uniques}
    return rows_as(execute(connection, "health_checks/unusable_indexes", **values), Defect)


def liveness(connection: Connection, *, dead_after: timedelta) -> Liveness:
    """Whether the processes run that must."""
    values = {"dead_after": dead_after, "known_schema": SUPPORTED_SCHEMA}
    return Liveness(**execute(connection, "health_checks/liveness", **values).one()._mapping)


def workers_of_host(connection: Connection, *, host: str, dead_after: timedelta) -> int:
    """How many workers of this host have a heartbeat."""
    values = {"host": host, "dead_after": dead_after}
    workers: int = execute(connection, "health_checks/workers_of_host", **values).scalar_one()
    return workers


def late(connection: Connection) -> LateReminders:
    """The reminders that are overdue."""
    return LateReminders(**execute(connection, "health_checks/late").one()._mapping)


def mailboxes(connection: Connection) -> MailboxHealth:
    """How the connected mailboxes are."""
    return MailboxHealth(**execute(connection, "health_checks/mailboxes").one()._mapping)


def webhooks(connection: Connection) -> WebhookHealth:
    """How webhooks are."""
    return WebhookHealth(**execute(connection, "health_checks/webhooks").one()._mapping)


def push(connection: Connection) -> PushHealth:
    """How pushes to devices are."""
    return PushHealth(**execute(connection, "health_checks/push").one()._mapping)


def violations(connection: Connection, invariant: str, *, limit: int = 100) -> list[Violation]:
    """Up to `limit` rows that violate one of the INVARIANTS. A due row that waits for a newer release, or behind other
    rows of its key, is rightly not taken and so not returned.

    The materialized CTE makes the planner plan for all rows: with the LIMIT alone it expects to find some soon, and
    chooses a plan that is slow if no row matches.
    """
    view: Select[*tuple[Any, ...]] = select(literal_column("*")).select_from(table(f"invariant_{invariant}"))
    violated = view.cte("broken").prefix_with("MATERIALIZED", dialect="postgresql")
    found: Select[*tuple[Any, ...]] = select(literal_column("*")).select_from(violated).limit(limit)
    if invariant == "due_is_taken":
        waiting = exists().where(
            Snooze.id == literal_column("broken.snooze_id", BIGINT),
            or_(Snooze.schema_version > SUPPORTED_SCHEMA, is_behind_key()),
        )
        found = found.where(~waiting)
    return rows_as(connection.execute(found), Violation)


def _indexes() -> dict[str, Index | UniqueConstraint]:
    """Indexes by name. A unique constraint's index has its name."""
    models = metadata.tables.values()
    unique = {str(key.name): key for model in models for key in model.constraints if isinstance(key, UniqueConstraint)}
    return unique | {str(index.name): index for model in models for index in model.indexes}


def _is_unique(name: str) -> bool:
    index = _indexes()[name]
    return isinstance(index, UniqueConstraint) or bool(index.unique)


def _has_columns(constraint: Constraint) -> bool:
    """Whether it is in the schema: SQLAlchemy gives a primary key without columns to a table that has none."""
    return not isinstance(constraint, PrimaryKeyConstraint) or len(constraint.columns) > 0


def _pairs(by_table: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(on, name) for on, names in by_table.items() for name in names]
