"""What is true of a queue, in plain SQL of our own, and each place that shows it: no figure may say anything else."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Connection, Engine, text

from snoozer.db import support
from tests.web.cases import page, visible_text

DEAD = timedelta(seconds=1.6)
TRIES = 50
LIVE = "NOT inactive AND claimed_at IS NULL"
DOUBTFUL = "id IN (SELECT snooze_id FROM reminder_sends WHERE state = 'uncertain')"
LATE = "now() - snooze_promise(email_snoozes)"
SECONDS = (("10", "-1", "10"), ("60", "10", "60"), ("1800", "60", "1800"), ("more", "1800", "1e9"))
SILENT = "COALESCE(stopped_at, clock_timestamp()) - heartbeat_at"
Figures = Mapping[str, object]


def count(table: str, condition: str) -> str:
    return f"SELECT count(*) FROM {table} WHERE {condition}"  # noqa: S608


snoozes, sends = partial(count, "email_snoozes"), partial(count, "reminder_sends")
workers, mailboxes = partial(count, "workers"), partial(count, "mailboxes")


def lines(words: str, of: str) -> str:
    """Rows of some columns, in order, as one array of texts."""
    return f"SELECT array_agg(concat_ws(' ', {words}) ORDER BY concat_ws(' ', {words})) FROM {of}"  # noqa: S608


LATE_BANDS = {
    f"late {name}": snoozes(
        f"NOT inactive AND (remind_at <= now() OR claimed_at IS NOT NULL OR scheduled_for <= now())"
        f" AND {LATE} > {above} * INTERVAL '1 second' AND {LATE} <= {most} * INTERVAL '1 second'"
    )
    for name, above, most in SECONDS
}
SENT_BANDS = {
    f"sent {name}": sends(
        f"state = 'sent' AND channel = 'email' AND sent_at - scheduled_for > {above} * INTERVAL '1 second'"
        f" AND sent_at - scheduled_for <= {most} * INTERVAL '1 second'"
    )
    for name, above, most in SECONDS
}
TRUTH = (
    {
        "due": snoozes(f"{LIVE} AND remind_at <= now()"),
        "in hand": snoozes("claimed_at IS NOT NULL"),
        "to be tried again": snoozes(f"{LIVE} AND remind_at > now() AND last_error IS NOT NULL AND NOT {DOUBTFUL}"),
        "held": snoozes(f"{LIVE} AND {DOUBTFUL}"),
        "asleep": snoozes(f"{LIVE} AND remind_at > now() AND last_error IS NULL"),
        "paused": snoozes("inactive AND outcome IS NULL AND paused_by IS NULL"),
        "set aside": snoozes("paused_by IS NOT NULL"),
        "cases": snoozes("outcome = 'retired'"),
        "uncertain": sends("state = 'uncertain'"),
        "sent": sends("state = 'sent' AND channel = 'email'"),
        "tried again": "SELECT count(*) FROM snooze_events WHERE kind = 'failed'",
        "given up": "SELECT count(*) FROM snooze_events WHERE kind = 'retired'",
        "alive": workers(f"state = 'alive' AND {SILENT} <= :dead"),
        "draining": workers(f"state = 'draining' AND {SILENT} <= :dead"),
        "lost": workers(f"{SILENT} > :dead"),
        "groups": lines(
            "cases, people",
            "(SELECT count(*) AS cases, count(DISTINCT user_email) AS people FROM email_snoozes"
            " WHERE outcome = 'retired' GROUP BY substr(last_error, 1, 8)) AS alike",
        ),
        "servers": lines("server, failures", "circuit_breakers"),
        "breakers open": "SELECT count(*) FROM circuit_breakers WHERE state <> 'closed'",
        "connected": mailboxes("TRUE"),
        "watched": mailboxes("owned_until > clock_timestamp()"),
        "unwatched": mailboxes("state <> 'paused' AND (owned_until IS NULL OR owned_until <= clock_timestamp())"),
        "troubled": mailboxes("problem_since < clock_timestamp() - INTERVAL '5 minutes'"),
        "not back": "SELECT count(*) FROM messages WHERE returns_at <= now()",
        "to be moved": "SELECT count(*) FROM messages WHERE wanted <> place",
        "own": snoozes("user_email = :me AND outcome IS NULL"),
        "own due": snoozes(
            "user_email = :me AND outcome IS NULL AND NOT inactive AND snooze_promise(email_snoozes) <= now()"
        ),
        "lapsed": snoozes("lease_expires_at < now()"),
        "long": snoozes("lease_expires_at >= now()"),
        "failed lately": snoozes("last_error_at > now() - INTERVAL '1 day'"),
        "holders": lines(
            "worker.id, (SELECT count(*) FROM email_snoozes WHERE claimed_by = worker.id)", "workers AS worker"
        ),
        "own states": lines(
            "state, snoozes",
            "(SELECT its.state, count(*) AS snoozes FROM email_snoozes AS snooze, snooze_state(snooze, 1) AS its"
            " WHERE user_email = :me GROUP BY its.state, its.why) AS mine",
        ),
        "sessions": lines(
            "application, sessions",
            "(SELECT COALESCE(NULLIF(application_name, ''), 'without a name') AS application, count(*) AS sessions"
            " FROM pg_stat_activity WHERE backend_type = 'client backend' GROUP BY 1) AS program",
        ),
        "waiting": count("pg_stat_activity", "wait_event_type = 'Lock' AND datname = current_database()"),
    }
    | LATE_BANDS
    | SENT_BANDS
)
# Whether anything happened between two looks, also where a figure is the same again; and whether a worker is about to
# be called lost, or was just heard.
MOVES = (
    "SELECT md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY id)) FROM email_snoozes",
    "SELECT md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY id)) FROM reminder_sends",
    "SELECT md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY server)) FROM circuit_breakers",
    "SELECT md5(string_agg(pid || query_start::text, ' ' ORDER BY pid))"
    " FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
)
UNCLEAR = workers(f"state <> 'dead' AND {SILENT} BETWEEN :dead / 2 AND :dead * 2")


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is true at one moment of a database that may be busy."""

    figures: Figures
    moves: tuple[object, ...]
    is_clear: bool


def truth(connection: Connection, me: str) -> Truth:
    statement = ", ".join(f"({sql})" for sql in (*TRUTH.values(), *MOVES, UNCLEAR))
    *found, unclear = connection.execute(text(f"SELECT {statement}"), {"me": me, "dead": DEAD}).one()
    figures = dict(zip(TRUTH, found, strict=False))
    return Truth(figures=figures, moves=tuple(found[len(TRUTH) :]), is_clear=unclear == 0)


def agree(engine: Engine, operator: FlaskClient, me: str) -> None:
    """Each place shows the truth: what is true before and after it is read stands there."""
    for name, place in PLACES.items():
        for _ in range(TRIES):
            with engine.connect() as connection:
                before = truth(connection, me)
            found = place(operator)
            with engine.connect() as connection:
                after = truth(connection, me)
            if found is not None and before == after and before.is_clear:
                assert (name, found) == (name, {figure: before.figures[figure] for figure in found})
                break
        else:
            pytest.fail(f"the queue never stood still for the time of {name}")
    _queries_agree(engine, me)


def _numbers(words: str, patterns: Mapping[str, str]) -> Figures:
    """The figures of a page; a card that is not there stands for 0."""
    found = {name: re.search(pattern, words) for name, pattern in patterns.items()}
    return {name: int(match[1].replace(",", "")) if match else 0 for name, match in found.items()}


OVERVIEW = {
    "due": r"Due now ([\d,]+) snooze",
    "in hand": r"In hand ([\d,]+) snooze",
    "to be tried again": r"To be tried again ([\d,]+) snooze",
    "held": r"Held ([\d,]+) snooze",
    "asleep": r"Asleep ([\d,]+) snooze",
    "paused": r"Paused ([\d,]+) snooze",
    "set aside": r"Paused by operators ([\d,]+) snooze",
    "cases": r"Cases ([\d,]+) to decide",
    "uncertain": r"May have been sent ([\d,]+) send",
    "sent": r"Sent ([\d,]+) in the last hour",
    "tried again": r"([\d,]+) failed and (?:is|are) tried again",
    "given up": r"tried again, ([\d,]+) became",
    "alive": r"Workers ([\d,]+) alive",
    "draining": r"([\d,]+) draining",
    "lost": r"([\d,]+) lost in the last day",
    "connected": r"Connected ([\d,]+) mailbox",
    "unwatched": r"Watched by no process ([\d,]+) mailbox",
    "troubled": r"In trouble for minutes ([\d,]+) mailbox",
    "not back": r"Overdue ([\d,]+) message",
}

SERVER = r"<h3>Mail server (\S+)</h3>\s*<p><b>[^<]*</b></p>\s*<p>\s*(?:(\d+) failures? in a row)?"


def _overview(operator: FlaskClient) -> Figures | None:
    markup = page(operator, "/admin")
    words = visible_text(markup)
    if "not read in time" in words:
        return None
    figures = dict(_numbers(words, OVERVIEW))
    waiting, sent = re.search(
        r"Waiting now (.*?) Sent in the last hour (.*?) Waiting: what should", words, re.S
    ).groups()  # type: ignore[union-attr]
    for bands, cells in ((LATE_BANDS, waiting), (SENT_BANDS, sent)):
        shown = "0 0 0 0" if cells == "none" else re.sub(r"[\d.]+ %", "", cells)
        figures |= zip(bands, map(int, shown.split()[:4]), strict=True)
    holders = re.findall(r'class="mono">([^<]+)</th>.*?data-label="Load">(\d+) of', markup, re.S)
    servers = re.findall(SERVER, markup)
    return figures | {
        "holders": sorted(f"{worker} {rows}" for worker, rows in holders),
        "servers": sorted(f"{server} {failures or 0}" for server, failures in servers) or None,
    }


def _cases(operator: FlaskClient) -> Figures | None:
    words = visible_text(page(operator))
    if "in time" in words:
        return None
    groups = re.findall(r"([\d,]+) cases? of ([\d,]+) (?:person|people);", words)
    found = _numbers(words, {"cases": r"newest first ([\d,]+) case"})
    return {**found, "groups": sorted(f"{cases} {people}" for cases, people in groups)}


def _page(path: str, patterns: Mapping[str, str], operator: FlaskClient) -> Figures:
    return _numbers(visible_text(page(operator, path)), patterns)


GAUGES = {
    "queue_depth": "due",
    "queue_in_flight": "in hand",
    "queue_retrying": "to be tried again",
    "queue_held": "held",
    "queue_asleep": "asleep",
    "queue_paused": "paused",
    "queue_paused_by_operator": "set aside",
    "queue_cases": "cases",
    "ledger_uncertain": "uncertain",
    "breaker_open": "breakers open",
    "workers_alive": "alive",
    "workers_lost": "lost",
    "mailboxes_watched": "watched",
    "mailboxes_unwatched": "unwatched",
    "mailboxes_overdue": "not back",
    "mailboxes_moves_waiting": "to be moved",
    'queue_late{band="≤ 10 s"}': "late 10",
    'queue_late{band="≤ 60 s"}': "late 60",
    'queue_late{band="≤ 30 min"}': "late 1800",
    'queue_late{band="more"}': "late more",
    'reminders_sent_late{band="≤ 10 s"}': "sent 10",
    'reminders_sent_late{band="≤ 60 s"}': "sent 60",
    'reminders_sent_late{band="≤ 30 min"}': "sent 1800",
    'reminders_sent_late{band="more"}': "sent more",
}


def _gauges(operator: FlaskClient) -> Figures | None:
    """None where the database gave no answer for one of them."""
    shown = dict(line.rsplit(" ", 1) for line in page(operator, "/metrics").splitlines() if line[:1] != "#")
    if not shown.keys() >= GAUGES.keys():
        return None
    return {name: int(float(shown[gauge])) for gauge, name in GAUGES.items()}


PLACES: dict[str, Callable[[FlaskClient], Figures | None]] = {
    "the overview": _overview,
    "the list of cases": _cases,
    "the mailboxes": partial(
        _page,
        "/admin/mailboxes",
        {
            "connected": r"Connected ([\d,]+) by IMAP",
            "unwatched": r"Watched by no process ([\d,]+) ",
            "troubled": r"In trouble for minutes ([\d,]+) ",
            "not back": r"Overdue messages ([\d,]+) ",
        },
    ),
    "the pauses": partial(_page, "/admin/pauses", {"set aside": r"([\d,]+) set aside"}),
    "a person's own page": partial(
        _page, "/", {"own": r"Asleep ([\d,]+) message", "own due": r"Asleep [\d,]+ messages? · ([\d,]+) (?:is|are) due"}
    ),
    "/metrics": _gauges,
}

# Of each support query: the figures of a row, or of all rows together.
COLUMNS = {
    "backlog": {
        "due": "due",
        "claimed": "in hand",
        "retrying": "to be tried again",
        "held": "held",
        "asleep": "asleep",
        "paused": "paused",
        "paused_by_operator": "set aside",
    },
    "health": {
        "cases": "cases",
        "uncertain": "uncertain",
        "workers": "alive",
        "draining": "draining",
        "lost": "lost",
        "breakers_open": "breakers open",
    },
    "mailboxes": {
        "watched": "watched",
        "unwatched": "unwatched",
        "overdue": "not back",
        "moves_waiting": "to be moved",
    },
}
ROWS = {"long_runners": "long", "stuck": "lapsed", "uncertain": "uncertain", "oldest": "due", "locks": "waiting"}
LINES = {
    "cases": ("groups", "cases people"),
    "mail_servers": ("servers", "server failures"),
    "workers": ("holders", "id claims"),
    "person": ("own states", "state snoozes"),
    "connections": ("sessions", "application sessions"),
}


def _queries_agree(engine: Engine, me: str) -> None:
    """What `snoozer support` prints and the truth, in one transaction that sees nothing of what happens meanwhile."""
    for _ in range(TRIES):
        with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
            before = truth(connection, me)
            asked = {name: list(support.read(connection, name, dead_after=DEAD, person=me)) for name in support.names()}
            after = truth(connection, me)
        if before == after and before.is_clear:
            break
    else:
        pytest.fail("workers were never either heard or lost")
    known = before.figures
    for query, columns in COLUMNS.items():
        [row] = asked[query]
        assert {name: getattr(row, column) for column, name in columns.items()} == {
            n: known[n] for n in columns.values()
        }
    assert {query: len(asked[query]) for query in ROWS} == {query: known[name] for query, name in ROWS.items()}
    for query, (name, words) in LINES.items():
        shown = sorted(" ".join(str(getattr(row, word)) for word in words.split()) for row in asked[query])
        assert shown == (known[name] or []), query
    assert sum(row.snoozes for row in asked["failures"]) == known["failed lately"]
    assert sum(row.cases for row in asked["failures"]) == known["cases"]
    assert sum(row.alive for row in asked["versions"]) == known["alive"]
    assert sum(row.claims for row in asked["versions"]) == known["in hand"]
    sent, waits = asked["wait"]
    for row, bands in ((sent, SENT_BANDS), (waits, LATE_BANDS)):
        assert [row.within_10_s, row.within_60_s, row.within_30_min, row.more] == [known[band] for band in bands]
    assert sum(one["value"] for one in asked["mailboxes"][0].connected) == known["connected"]
    for other in ("push", "webhooks"):
        assert _sum(asked[other][0]) == 0, other


def _sum(row: Any) -> float:
    """Of figures that are all 0 here."""
    return float(sum(len(value) if isinstance(value, list) else value for value in row))
