"""Every page of the site, filled with what is hard to display."""

from sqlalchemy import Engine

from snoozer.db import mailbox_store
from snoozer.operators import pauses
from snoozer.people import api_tokens
from snoozer.queue import events
from snoozer.settings import Settings
from tests.db.operations import OPERATOR, an_operation
from tests.factories import ANN, HOUR, a_kept_message, a_mailbox, a_snooze, an_original, now
from tests.web.cases import an_uncertain_case
from tests.web.reminders import a_link, a_sent_reminder
from tests.webhook_receiver import a_failed_webhook

CANARY = "<img src=x onerror=alert(1)><script>alert(2)</script>"
LONG = "Donaudampfschifffahrtsgesellschaftskapitaen" * 8
SUBJECTS = (CANARY, LONG, "תזכורת: פגישת הורים ביום רביעי", "🎉 Launch party", None)


def of_a_person(settings: Settings, engine: Engine) -> list[str]:
    """The paths of every page of a person, with texts that are hard to display."""
    for subject in SUBJECTS:
        a_snooze(engine, subject=subject, sender_email=subject, note=subject, remind_at=now() + 5 * HOUR)
    late = a_snooze(
        engine,
        subject=CANARY,
        note=CANARY,
        last_error=CANARY + LONG,
        attempts=1,
        last_error_at=now(),
        remind_at=now() - HOUR,
    )
    stuck = a_snooze(engine, inactive=True, outcome="retired", finished_at=now(), last_error=LONG)
    strange = an_original(subject=LONG, body=f"{CANARY} {LONG} http://x.example/{LONG}")
    kept = a_kept_message(engine, original=strange)
    reminder = a_sent_reminder(engine, subject=CANARY, note=LONG)
    with engine.begin() as connection:
        mail = mailbox_store.save_captured(connection, mail_from="s@x", rcpt_to=ANN, original=strange)
    link = a_link(engine, settings, reminder)
    troubled = a_mailbox(
        engine, address=f"{LONG}@x.example", host=LONG[:60], state="paused", problem="login", problem_since=now()
    )
    a_mailbox(engine, address=CANARY)
    with engine.begin() as connection:
        program = api_tokens.create(connection, email=ANN, name=LONG)
        assert program is not None
        lines = [(late, {"phrase": CANARY + LONG})]
        events.append_many(connection, kind="edited", actor="user", route="api", lines=lines, token_id=program.id)
    webhook, delivery = a_failed_webhook(engine, url=f"https://x.example/{LONG[:200]}", answer=f"{CANARY} {LONG}")
    return [
        *("/", "/mailbox", "/mailbox?folder=asleep", "/mailbox?folder=done", "/add", "/settings", "/sink", "/nothing"),
        "/settings/data",
        "/settings/own-addresses",
        "/settings/feeds",
        "/settings/programs",
        "/settings/programs/today",
        "/docs/api",
        "/settings/webhooks",
        f"/settings/webhooks/{webhook}",
        f"/settings/webhooks/deliveries/{delivery}",
        "/settings/data/delete",
        *(f"/?q={LONG[:190]}", "/?q=alert", f"/?q=due:{LONG[:190]}"),
        *(
            f"/snoozes/{late}",
            f"/snoozes/{stuck}",
            f"/snoozes/{reminder}",
            f"/mailbox/{kept}",
            f"/mailbox/{kept}/snooze",
        ),
        *("/settings/day", "/settings/mailboxes", "/settings/mailboxes/connect", f"/settings/mailboxes/{troubled}"),
        *(f"/sink/{mail}", f"{link}/tomorrow", f"{link}/stop", f"{link}/forged", "/r/forged", "/sign-in/forged"),
    ]


def of_an_operator(engine: Engine) -> list[str]:
    """The paths of an operator's pages, with cases that are hard to display."""
    case = a_snooze(
        engine,
        user_email=f"{LONG[:60]}@x.example",
        inactive=True,
        outcome="retired",
        finished_at=now(),
        last_error=LONG,
    )
    uncertain = an_uncertain_case(engine, subject=LONG)
    operation = an_operation(engine, act="dismiss", ids=[case, uncertain], reason=LONG)
    with engine.begin() as connection:
        pauses.pause(
            connection, pauses.Scope(kind="domain", value=f"{LONG[:60]}.example"), actor=OPERATOR, reason=CANARY
        )
    return [
        *("/admin", "/admin/cases", "/admin/mailboxes", "/admin/operations", "/admin/pauses", "/admin/runbook"),
        *(f"/admin/cases/{case}", f"/admin/cases/{uncertain}", f"/admin/operations/{operation}"),
    ]
