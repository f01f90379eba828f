"""Acts on many messages: those of the list of what is asleep, and of the mailbox that Snoozer keeps; and their Undo."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from flask import Blueprint, abort, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import bulk_acts, telemetry
from snoozer.bulk_acts import MAX_CHOSEN, Done, Message
from snoozer.db.models import Account
from snoozer.db.queries import messages as message_queries
from snoozer.db.queries import snoozes
from snoozer.mailbox_reading.kept import stored_folder, stored_terms
from snoozer.mailbox_reading.mailbox import MailboxError
from snoozer.web import context
from snoozer.web.auth import login_required, saved_times, time_formatter
from snoozer.web.bulk import answers
from snoozer.web.bulk.choice import Choice, read_choice
from snoozer.web.context import ROUTE, flash
from snoozer.web.forms import back
from snoozer.web.mailbox import views
from snoozer.web.mailbox.pages import KEPT
from snoozer.web.snoozes import search
from snoozer.web.snoozes.forms import SnoozeForm, read_submission
from snoozer.web.snoozes.search import SearchError
from snoozer.web.text.bulk_text import undone_text

blueprint = Blueprint("bulk", __name__, url_prefix="/bulk")

# What one act does: given the ids, or the messages and how many of those that were chosen are gone.
OnSnoozes = Callable[[Connection, Sequence[int]], Done]
OnMessages = Callable[[Connection, Sequence[Message], int], Done]


@blueprint.post("/asleep/time")
@login_required
def reschedule(account: Account) -> ResponseReturnValue:
    submitted = read_submission(request.form, times=time_formatter(), saved_times=saved_times())

    if isinstance(submitted, SnoozeForm):
        return _ask_time(submitted)
    return _on_snoozes(
        account,
        lambda connection, ids: answers.counted(
            connection,
            account,
            submitted,
            lambda: bulk_acts.reschedule(
                connection,
                user_email=account.email,
                ids=ids,
                reminder_time=submitted.reminder_time,
                reading=submitted.reading,
                route=ROUTE,
                traceparent=telemetry.traceparent(),
            ),
        ),
    )


@blueprint.post("/asleep/wake")
@login_required
def wake(account: Account) -> ResponseReturnValue:
    return _on_snoozes(
        account,
        lambda connection, ids: bulk_acts.wake(connection, user_email=account.email, ids=ids, route=ROUTE),
    )


@blueprint.post("/asleep/cancel")
@login_required
def cancel(account: Account) -> ResponseReturnValue:
    return _on_snoozes(
        account,
        lambda connection, ids: bulk_acts.cancel(connection, user_email=account.email, ids=ids, route=ROUTE),
    )


@blueprint.post("/mailbox/snooze")
@login_required
def snooze(account: Account) -> ResponseReturnValue:
    submitted = read_submission(request.form, times=time_formatter(), saved_times=saved_times())
    if isinstance(submitted, SnoozeForm):
        return _ask_time(submitted)
    return _on_messages(
        account,
        lambda connection, messages, missing: answers.counted(
            connection,
            account,
            submitted,
            lambda: bulk_acts.snooze(
                connection,
                user_email=account.email,
                messages=messages,
                missing=missing,
                reminder_time=submitted.reminder_time,
                reading=submitted.reading,
                route=ROUTE,
                traceparent=telemetry.traceparent(),
            ),
        ),
    )


@blueprint.post("/mailbox/done")
@login_required
def done(account: Account) -> ResponseReturnValue:
    return _on_messages(
        account,
        lambda connection, messages, missing: bulk_acts.done(
            connection,
            user_email=account.email,
            message_ids=[one.message_id for one in messages],
            missing=missing,
        ),
    )


@blueprint.post("/mailbox/inbox")
@login_required
def to_inbox(account: Account) -> ResponseReturnValue:
    return _on_messages(
        account,
        lambda connection, messages, missing: bulk_acts.to_inbox(
            connection,
            user_email=account.email,
            message_ids=[one.message_id for one in messages],
            missing=missing,
            route=ROUTE,
        ),
    )


@blueprint.post("/<uuid:id>/undo")
@login_required
def undo(account: Account, id: UUID) -> ResponseReturnValue:
    """Puts back what one act changed, where nothing has changed it since."""
    undone = context.retried(
        lambda connection: bulk_acts.undo(
            connection, account_id=account.id, user_email=account.email, id=id, route=ROUTE
        )
    )
    flash(undone_text(undone))
    return back(url_for("snoozes.home"))


@blueprint.errorhandler(MailboxError)
def show_problem(error: MailboxError) -> ResponseReturnValue:
    return views.show_problem(error, KEPT, None)


def _ask_time(form: SnoozeForm) -> ResponseReturnValue:
    choice = read_choice(time_formatter().now)
    return answers.nothing_chosen() if choice is None else answers.time_page(choice, form)


def _on_snoozes(account: Account, act: OnSnoozes) -> ResponseReturnValue:
    choice = read_choice(time_formatter().now)
    if choice is None:
        return answers.nothing_chosen()

    def work(connection: Connection, choice: Choice) -> Done:
        ids = _chosen_snoozes(connection, account, choice)
        return answers.first_ones(act(connection, ids[:MAX_CHOSEN]), of=len(ids))

    return answers.perform(account, choice, work, home=url_for("snoozes.home"))


def _chosen_snoozes(connection: Connection, account: Account, choice: Choice) -> Sequence[int]:
    """Those that were chosen by themselves, or all that the list's search matches as of when it was shown."""
    if not choice.everything:
        return choice.row_ids
    try:
        filters = search.parse(choice.search or "", times=replace(time_formatter(), now=choice.as_of))
    except SearchError:
        abort(422)
    return snoozes.chosen(
        connection, user_email=account.email, filters=filters, as_of=choice.as_of, size=MAX_CHOSEN + 1
    )


def _on_messages(account: Account, act: OnMessages) -> ResponseReturnValue:
    choice = read_choice(time_formatter().now)
    if choice is None:
        return answers.nothing_chosen()

    def work(connection: Connection, choice: Choice) -> Done:
        ids = _chosen_messages(connection, account, choice)
        heads = message_queries.heads(connection, user_email=account.email, ids=ids[:MAX_CHOSEN])
        found = [Message(head.message_id, head.subject, head.sender_email) for head in heads]
        missing = min(len(ids), MAX_CHOSEN) - len(found)
        return answers.first_ones(act(connection, found, missing), of=len(ids))

    return answers.perform(account, choice, work, home=KEPT.url("browse"))


def _chosen_messages(connection: Connection, account: Account, choice: Choice) -> Sequence[int]:
    if not choice.everything:
        return choice.row_ids
    return message_queries.chosen(
        connection,
        user_email=account.email,
        folder=stored_folder(choice.folder),
        terms=stored_terms(choice.search),
        as_of=choice.as_of,
        size=MAX_CHOSEN + 1,
    )
