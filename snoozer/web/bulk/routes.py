"""Acts on many messages: those of the list of what is asleep, of the mailbox that Snoozer keeps, and of connected ones;
and their Undo."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from flask import Blueprint, abort, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import telemetry
from snoozer.bulk_acts import acts, record
from snoozer.bulk_acts.results import MAX_CHOSEN, Done
from snoozer.db.models import Account
from snoozer.db.queries import messages as message_queries
from snoozer.db.queries import snoozes
from snoozer.mailbox_reading import bulk as connected
from snoozer.mailbox_reading.kept import stored_folder, stored_terms
from snoozer.mailbox_reading.mailbox import MailboxError
from snoozer.snoozing import Message
from snoozer.web import context
from snoozer.web.auth import login_required, saved_times, time_formatter
from snoozer.web.bulk import answers
from snoozer.web.bulk.choice import Choice, read_choice
from snoozer.web.connected_mail.opening import open_or_404
from snoozer.web.context import ROUTE, flash
from snoozer.web.forms import back
from snoozer.web.mailbox import views
from snoozer.web.mailbox.pages import KEPT, MailboxPages
from snoozer.web.snoozes import search
from snoozer.web.snoozes.forms import SnoozeForm, read_submission
from snoozer.web.snoozes.search import SearchError
from snoozer.web.text.bulk_text import undone_text

blueprint = Blueprint("bulk", __name__, url_prefix="/bulk")

# What is done in the transaction, of an account to what was chosen; with a time, it is given that, too.
Work = Callable[..., Done]
# Reads what was chosen, or looks at it at a mail server, before the transaction of the act begins.
Prepare = Callable[[Account, Choice], Work]


@blueprint.post("/asleep/time")
@login_required
def reschedule(account: Account) -> ResponseReturnValue:
    return _act_until(account, _on_snoozes(acts.reschedule))


@blueprint.post("/asleep/wake")
@login_required
def wake(account: Account) -> ResponseReturnValue:
    return _wake(account, _on_snoozes(partial(acts.wake, route=ROUTE)))


@blueprint.post("/asleep/cancel")
@login_required
def cancel(account: Account) -> ResponseReturnValue:
    return _act(account, _on_snoozes(partial(acts.cancel, route=ROUTE)))


@blueprint.post("/mailbox/snooze")
@login_required
def snooze_kept(account: Account) -> ResponseReturnValue:
    return _act_until(account, _on_messages(acts.snooze))


@blueprint.post("/mailbox/wake")
@login_required
def wake_kept(account: Account) -> ResponseReturnValue:
    return _wake(account, _on_messages(_by_ids(partial(acts.wake, route=ROUTE))))


@blueprint.post("/mailbox/done")
@login_required
def done_kept(account: Account) -> ResponseReturnValue:
    return _act(account, _on_messages(_by_ids(acts.done)))


@blueprint.post("/mailbox/inbox")
@login_required
def to_inbox_kept(account: Account) -> ResponseReturnValue:
    return _act(account, _on_messages(_by_ids(partial(acts.to_inbox, route=ROUTE))))


@blueprint.post("/mailboxes/<row:mailbox_id>/snooze")
@login_required
def snooze_connected(account: Account, mailbox_id: int) -> ResponseReturnValue:
    return _act_until(account, _on_mail(account, mailbox_id, connected.snoozing))


@blueprint.post("/mailboxes/<row:mailbox_id>/wake")
@login_required
def wake_connected(account: Account, mailbox_id: int) -> ResponseReturnValue:
    return _wake(account, _on_mail(account, mailbox_id, partial(connected.waking, route=ROUTE)))


@blueprint.post("/mailboxes/<row:mailbox_id>/done")
@login_required
def done_connected(account: Account, mailbox_id: int) -> ResponseReturnValue:
    return _act(account, _on_mail(account, mailbox_id, connected.being_done))


@blueprint.post("/mailboxes/<row:mailbox_id>/inbox")
@login_required
def to_inbox_connected(account: Account, mailbox_id: int) -> ResponseReturnValue:
    return _act(account, _on_mail(account, mailbox_id, partial(connected.to_inbox, route=ROUTE)))


@blueprint.post("/<uuid:id>/undo")
@login_required
def undo(account: Account, id: UUID) -> ResponseReturnValue:
    """Puts back what one act changed, where nothing has changed it since."""
    undone = context.retried(
        lambda connection: record.undo(connection, account_id=account.id, user_email=account.email, id=id, route=ROUTE)
    )
    flash(undone_text(undone))
    return back(url_for("snoozes.home"))


@blueprint.errorhandler(MailboxError)
def show_problem(error: MailboxError) -> ResponseReturnValue:
    id = (request.view_args or {}).get("mailbox_id")
    return views.show_problem(error, KEPT if id is None else MailboxPages(title="", id=id), None)


def _act(account: Account, prepare: Prepare) -> ResponseReturnValue:
    choice = read_choice(time_formatter().now)
    if choice is None:
        return answers.nothing_chosen()
    return answers.perform(account, choice, lambda: prepare(account, choice))


def _act_until(account: Account, prepare: Prepare) -> ResponseReturnValue:
    """For an act that takes a time: it is asked for and confirmed, and what snoozes is counted."""
    submitted = read_submission(request.form, times=time_formatter(), saved_times=saved_times())
    if isinstance(submitted, SnoozeForm):
        choice = read_choice(time_formatter().now)
        return answers.nothing_chosen() if choice is None else answers.time_page(choice, submitted)
    terms = {
        "reminder_time": submitted.reminder_time,
        "reading": submitted.reading,
        "route": ROUTE,
        "traceparent": telemetry.traceparent(),
    }

    def prepare_timed(account: Account, choice: Choice) -> Work:
        work = prepare(account, choice)
        return lambda connection: answers.counted(
            connection, account, lambda: work(connection, **terms), submitted=submitted
        )

    return _act(account, prepare_timed)


def _wake(account: Account, prepare: Prepare) -> ResponseReturnValue:
    """For what brings back: each may be a mail at once, so it is counted, too."""

    def prepare_counted(account: Account, choice: Choice) -> Work:
        work = prepare(account, choice)
        return lambda connection: answers.counted(connection, account, lambda: work(connection))

    return _act(account, prepare_counted)


def _on_snoozes(act: Callable[..., Done]) -> Prepare:
    """The act is given ids."""

    def work(account: Account, choice: Choice, connection: Connection, **terms: Any) -> Done:
        ids = _chosen_snoozes(connection, account, choice)
        done = act(connection, user_email=account.email, ids=ids[:MAX_CHOSEN], **terms)
        return answers.first_ones(done, of=len(ids))

    return lambda account, choice: partial(work, account, choice)


def _on_messages(act: Callable[..., Done]) -> Prepare:
    """The act is given messages that Snoozer keeps, and how many of those that were chosen are gone."""

    def work(account: Account, choice: Choice, connection: Connection, **terms: Any) -> Done:
        ids = _chosen_messages(connection, account, choice)
        heads = message_queries.heads(connection, user_email=account.email, ids=ids[:MAX_CHOSEN])
        found = [
            Message(message_id=head.message_id, subject=head.subject, sender_email=head.sender_email) for head in heads
        ]
        missing = min(len(ids), MAX_CHOSEN) - len(found)
        done = act(connection, user_email=account.email, messages=found, missing=missing, **terms)
        return answers.first_ones(done, of=len(ids))

    return lambda account, choice: partial(work, account, choice)


def _by_ids(act: Callable[..., Done]) -> Callable[..., Done]:
    """Of messages, the act is given the Message-IDs."""

    def work(connection: Connection, *, messages: Sequence[Message], **terms: Any) -> Done:
        return act(connection, message_ids=[one.message_id for one in messages], **terms)

    return work


def _on_mail(account: Account, mailbox_id: int, prepare_act: Callable[[connected.Chosen], Work]) -> Prepare:
    """The messages are looked at in a connected mailbox, before the transaction."""
    mailbox = open_or_404(account, id=mailbox_id)

    def prepare(_account: Account, choice: Choice) -> Work:
        chosen = (
            connected.choose_all(mailbox, choice.folder, search=choice.search, bound=choice.bound)
            if choice.everything
            else connected.choose(mailbox, choice.rows)
        )
        work = prepare_act(chosen)
        return lambda connection, **terms: answers.first_ones(work(connection, **terms), of=chosen.total)

    return prepare


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
