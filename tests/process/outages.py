"""The ten outages that the operators' overview has to name: how each begins and ends, and what is to be named of it."""

import re
import signal
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from playwright.sync_api import Locator, Page

from snoozer.dev.processes import wait_until_gone
from tests.process.conftest import wait
from tests.process.installation import REFUSAL, Installation, Sentence, family, signal_family

Act = Callable[[Installation], None]
DATABASE_SECONDS, SECONDS = 5.0, 15.0
# The order of harm: what an operator did, what hurts reminders, what may, and what does not.
OPERATOR, NOW, RISK, NOTICE = range(4)


def nothing(here: Installation) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Outage:
    """`prepare` is done while all is well. Of a pair, the outage with the lower `depth` begins first, and ends last
    where the other must be over before that is possible."""

    name: str
    says: re.Pattern[str]
    acts: tuple[str, ...]
    pages: tuple[str, ...]
    harm: int
    begin: Act
    end: Act
    prepare: Act = nothing
    prepare_end: Act = nothing
    within: float = SECONDS
    depth: int = 1

    def is_named_by(self, sentence: Sentence) -> bool:
        return self.says.search(sentence.text) is not None


def signal_to(which: Callable[[Installation], int], what: signal.Signals) -> Act:
    return lambda here: signal_family(which(here), what)


def replace_once(here: Installation) -> None:
    """A worker is killed, and another one works in its place."""
    slot, before = here.workers[1], here.registered()
    slot.kill()
    slot.keep()
    wait(lambda: bool(here.registered() - before))


def kill(here: Installation) -> None:
    here.workers[1].stays_down = True
    here.workers[1].kill()


def start_again(here: Installation) -> None:
    here.workers[1].stays_down = False
    here.workers[1].keep()


def kill_database(here: Installation) -> None:
    """It is killed while it is frozen, and started again."""
    pids = family(here.postgres.pid)
    signal_family(here.postgres.pid, signal.SIGKILL)
    wait_until_gone(pids[1:], seconds=30)
    here.postgres.start()


def refuse(here: Installation) -> None:
    """On open connections, too."""
    for phase in ("banner", "mail"):
        obey(here, fault=[phase, REFUSAL, None])


def obey(here: Installation, **order: object) -> None:
    here.sink.order(**order)


def lock(here: Installation) -> None:
    """By a program whose sessions have no limits."""
    here.migration = psycopg.connect(here.postgres.url, application_name="a-migration")
    here.migration.execute("LOCK TABLE email_snoozes IN SHARE ROW EXCLUSIVE MODE")


def unlock(here: Installation) -> None:
    assert here.migration is not None
    here.migration.close()


def write_stop(here: Installation) -> None:
    here.desk.goto("/admin")
    here.desk.locator("#trip-1 summary").click()
    here.desk.locator("#trip-1").get_by_label("Why?").fill("The relay is moved")


def stop(here: Installation) -> None:
    done(here.desk, "Stop sending by it")


def write_pause(here: Installation) -> None:
    here.other_desk.goto("/admin/pauses")
    here.other_desk.get_by_label("Everything").check()
    here.other_desk.get_by_role("button", name="Preview").click()
    here.other_desk.get_by_label("Why").fill("The relay is moved")


def pause(here: Installation) -> None:
    done(here.other_desk, "Pause everything")


def write_resume(desk: Page, kind: str) -> None:
    """With the form that the overview itself offers."""
    offered = desk.locator(f'.remedy[data-kind="{kind}"]')
    # After an outage of the database, a page is there again a moment later.
    wait(lambda: desk.goto("/admin") is not None and offered.count() > 0)
    offered.locator("summary").click()
    offered.get_by_label("Why does it end?").fill("It is done")


def resume(desk: Page) -> None:
    done(desk.locator(".remedy:has(details[open])"), "Resume")


def done(where: Page | Locator, button: str) -> None:
    """Returns when the act was answered."""
    page = where if isinstance(where, Page) else where.page
    with page.expect_navigation(wait_until="commit"):
        where.get_by_role("button", name=button, exact=True).click()


STOPPED_WORKERS = re.compile("stopped answering|No worker runs")
WORKER_ACTS = ("snoozer support workers", "snoozer worker")
WORKER_PAGES = ("a-delivery-does-not-end", "reminders-wait-and-no-worker-takes-them")
MAIL_SERVER_ACTS, MAIL_SERVER_PAGES = ("Mail servers", "snoozer doctor"), ("the-mail-server-is-away",)
OUTAGES = (
    Outage(
        name="worker frozen",
        says=STOPPED_WORKERS,
        acts=WORKER_ACTS,
        pages=WORKER_PAGES,
        harm=NOW,
        begin=signal_to(lambda here: here.workers[0].process.pid, signal.SIGSTOP),
        end=signal_to(lambda here: here.workers[0].process.pid, signal.SIGCONT),
    ),
    Outage(
        name="worker killed twice",
        says=STOPPED_WORKERS,
        acts=WORKER_ACTS,
        pages=WORKER_PAGES,
        harm=NOW,
        prepare=replace_once,
        begin=kill,
        end=start_again,
    ),
    Outage(
        name="mail server frozen",
        says=re.compile("mail server .*(has not answered|did not answer|does not answer)"),
        acts=MAIL_SERVER_ACTS,
        begin=signal_to(lambda here: here.sink.pid, signal.SIGSTOP),
        end=signal_to(lambda here: here.sink.pid, signal.SIGCONT),
        depth=2,
        pages=MAIL_SERVER_PAGES,
        harm=NOW,
    ),
    Outage(
        name="mail server refusing",
        says=re.compile("mail server .*(is refusing|refused when|refuses every)"),
        acts=MAIL_SERVER_ACTS,
        begin=refuse,
        end=lambda here: obey(here, heal=True),
        pages=MAIL_SERVER_PAGES,
        harm=NOW,
    ),
    Outage(
        name="stopped by an operator",
        says=re.compile(r"Nothing is sent by .* since operator \d+ stopped it"),
        acts=("Resume…",),
        pages=("the-mail-server-is-away",),
        harm=OPERATOR,
        prepare=write_stop,
        begin=stop,
        prepare_end=lambda here: write_resume(here.desk, "mail server tripped"),
        end=lambda here: resume(here.desk),
        depth=0,
    ),
    Outage(
        name="IMAP frozen",
        says=re.compile("mailbox(es)? ha(s|ve) had no answer"),
        acts=("Mailboxes",),
        pages=("notifications-or-connected-mailboxes-are-behind",),
        harm=RISK,
        begin=signal_to(lambda here: here.imap, signal.SIGSTOP),
        end=signal_to(lambda here: here.imap, signal.SIGCONT),
    ),
    Outage(
        name="database frozen and killed",
        says=re.compile("The database has not answered"),
        acts=("snoozer doctor",),
        pages=("the-database-does-not-answer",),
        harm=NOW,
        begin=signal_to(lambda here: here.postgres.pid, signal.SIGSTOP),
        end=kill_database,
        within=DATABASE_SECONDS,
        depth=3,
    ),
    Outage(
        name="lock",
        says=re.compile("The database is full of locks"),
        acts=("snoozer support locks",),
        pages=("statements-wait-for-locks",),
        harm=NOW,
        begin=lock,
        end=unlock,
    ),
    Outage(
        name="clock frozen",
        says=re.compile("The clock has been silent"),
        acts=("snoozer clock",),
        pages=("housekeeping-does-not-run",),
        harm=RISK,
        begin=signal_to(lambda here: here.clock.process.pid, signal.SIGSTOP),
        end=signal_to(lambda here: here.clock.process.pid, signal.SIGCONT),
        # A clock that waits for a lock already is not known to be frozen.
        depth=0,
    ),
    Outage(
        name="everything paused",
        says=re.compile(r"Operator \d+ paused everything"),
        acts=("Resume…",),
        pages=("many-reminders-must-wait-run-again-or-come-later",),
        harm=OPERATOR,
        prepare=write_pause,
        begin=pause,
        prepare_end=lambda here: write_resume(here.other_desk, "paused"),
        end=lambda here: resume(here.other_desk),
        depth=0,
    ),
)
