"""Acts on many messages of the list of snoozes, of the mailbox that Snoozer keeps, and of connected mailboxes; and
their Undo."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from flask import Blueprint, abort, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import telemetry
from snoozer.db.models import Account
from snoozer.db.queries import messages as message_queries
from snoozer.db.queries import snoozes
from snoozer.mailboxes.read import bulk as connected
from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.mailboxes.read.kept import stored_folder, stored_terms
from snoozer.mailboxes.read.mailbox import MailboxError
from snoozer.queue.limits import MAX_CHOSEN
from snoozer.snoozes import acts, bulk
from snoozer.snoozes.acts import By, Cancel, Snooze, Wake
from snoozer.snoozes.bulk import Done
from snoozer.snoozes.input import Message
from snoozer.web import context
from snoozer.web.auth import login_required, saved_times, time_formatter
from snoozer.web.context import ROUTE, flash
from snoozer.web.forms import back
from snoozer.web.mailboxes.mail import views
from snoozer.web.mailboxes.mail.opening import open_or_404
from snoozer.web.mailboxes.mail.pages import KEPT, MailboxPages
from snoozer.web.snoozes import search
from snoozer.web.snoozes.bulk import answers
from snoozer.web.snoozes.bulk.choice import Choice, read_choice
from snoozer.web.snoozes.forms import SnoozeForm, Submitted, read_submission
from snoozer.web.snoozes.search import SearchError
from snoozer.web.text.bulk_text import undone_text

blueprint = Blueprint("bulk", __name__, url_prefix="/bulk")

# The part that runs in the transaction.
Work = Callable[[Connection], Done]
# Reads the selection, or fetches it from a mail server, before the transaction of the act begins.
Prepare = Callable[[Account, Choice], Work]


@blueprint.post("/asleep/time")
@login_required
def reschedule(account: Account) -> ResponseReturnValue:
    return _act_until(
        account,
        lambda what: _on_snoozes(
            lambda connection, ids, by: bulk.reschedule(connection, ids, what, by, traceparent=telemetry.traceparent())
        ),
    )


@blueprint.post("/asleep/wake")
@login_required
def wake(account: Account) -> ResponseReturnValue:
    return _act(
        account,
        _on_snoozes(lambda connection, ids, by: bulk.summed("wake", acts.act(connection, ids, Wake(), by))),
        spends=True,
    )


@blueprint.post("/asleep/cancel")
@login_required
def cancel(account: Account) -> ResponseReturnValue:
    return _act(
        account, _on_snoozes(lambda connection, ids, by: bulk.summed("cancel", acts.act(connection, ids, Cancel(), by)))
    )


@blueprint.post("/mailbox/snooze")
@login_required
def snooze_kept(account: Account) -> ResponseReturnValue:
    def on(what: Snooze) -> Prepare:
        return _on_messages(
            lambda connection, messages, by, gone: bulk.snooze(
                connection, messages, what, by, traceparent=telemetry.traceparent(), gone=gone
            )
        )

    return _act_until(account, on)


@blueprint.post("/mailbox/wake")
@login_required
def wake_kept(account: Account) -> ResponseReturnValue:
    return _act(account, _on_messages(_by_ids(bulk.wake)), spends=True)


@blueprint.post("/mailbox/done")
@login_required
def done_kept(account: Account) -> ResponseReturnValue:
    return _act(account, _on_messages(_by_ids(bulk.done)))


@blueprint.post("/mailbox/inbox")
@login_required
def to_inbox_kept(account: Account) -> ResponseReturnValue:
    return _act(account, _on_messages(_by_ids(bulk.to_inbox)))


@blueprint.post("/mailboxes/<row:mailbox_id>/snooze")
@login_required
def snooze_connected(account: Account, mailbox_id: int) -> ResponseReturnValue:
    mailbox, traceparent = open_or_404(account, id=mailbox_id), telemetry.traceparent()
    # The results of a search are messages, the rows of a folder are conversations.
    whole = not request.form.get("q")
    return _act_until(
        account,
        lambda what: _on_mail(
            mailbox,
            lambda chosen, by: connected.snoozing(chosen, what, by, traceparent=traceparent, whole=whole),
        ),
    )


@blueprint.post("/mailboxes/<row:mailbox_id>/wake")
@login_required
def wake_connected(account: Account, mailbox_id: int) -> ResponseReturnValue:
    return _act(account, _on_mail(open_or_404(account, id=mailbox_id), connected.waking), spends=True)


@blueprint.post("/mailboxes/<row:mailbox_id>/done")
@login_required
def done_connected(account: Account, mailbox_id: int) -> ResponseReturnValue:
    return _act(
        account, _on_mail(open_or_404(account, id=mailbox_id), lambda chosen, _by: connected.being_done(chosen))
    )


@blueprint.post("/mailboxes/<row:mailbox_id>/inbox")
@login_required
def to_inbox_connected(account: Account, mailbox_id: int) -> ResponseReturnValue:
    return _act(account, _on_mail(open_or_404(account, id=mailbox_id), connected.to_inbox))


@blueprint.post("/<uuid:id>/undo")
@login_required
def undo(account: Account, id: UUID) -> ResponseReturnValue:
    """Undoes one act, except on rows that have changed since."""
    undone = context.retried(
        lambda connection: bulk.undo(connection, account_id=account.id, id=id, by=By(account.email, ROUTE))
    )
    flash(undone_text(undone))
    return back(url_for("snoozes.home"))


@blueprint.errorhandler(MailboxError)
def show_problem(error: MailboxError) -> ResponseReturnValue:
    id = (request.view_args or {}).get("mailbox_id")
    return views.show_problem(error, KEPT if id is None else MailboxPages(title="", id=id), None)


def _act(
    account: Account, prepare: Prepare, *, submitted: Submitted | None = None, spends: bool = False
) -> ResponseReturnValue:
    """Performs the act. `spends` if each may send a mail, now or later: then it counts as a snooze."""
    choice = read_choice(time_formatter().now)
    if choice is None:
        return answers.nothing_chosen()

    def prepare_counted() -> Work:
        work = prepare(account, choice)
        if not spends:
            return work
        return lambda connection: answers.counted(connection, account, lambda: work(connection), submitted=submitted)

    return answers.perform(account, choice, prepare_counted)


def _act_until(account: Account, prepare: Callable[[Snooze], Prepare]) -> ResponseReturnValue:
    """For an act that takes a time, which the form asks for and confirms."""
    submitted = read_submission(request.form, times=time_formatter(), saved_times=saved_times())
    if isinstance(submitted, SnoozeForm):
        choice = read_choice(time_formatter().now)
        return answers.nothing_chosen() if choice is None else answers.time_page(choice, submitted)
    what = Snooze(time=submitted.reminder_time, reading=submitted.reading, keeps_note=True)
    return _act(account, prepare(what), submitted=submitted, spends=True)


def _on_snoozes(act: Callable[[Connection, Sequence[int], By], Done]) -> Prepare:
    """Pass ids to the act."""

    def prepare(account: Account, choice: Choice) -> Work:
        def work(connection: Connection) -> Done:
            ids = _chosen_snoozes(connection, account, choice)
            return answers.first_ones(act(connection, ids[:MAX_CHOSEN], By(account.email, ROUTE)), of=len(ids))

        return work

    return prepare


def _on_messages(act: Callable[[Connection, Sequence[Message], By, int], Done]) -> Prepare:
    """Pass the act the messages that Snoozer keeps, and the number of chosen messages that are gone."""

    def prepare(account: Account, choice: Choice) -> Work:
        def work(connection: Connection) -> Done:
            ids = _chosen_messages(connection, account, choice)
            heads = message_queries.heads(connection, user_email=account.email, ids=ids[:MAX_CHOSEN])
            found = [
                Message(message_id=head.message_id, subject=head.subject, sender_email=head.sender_email)
                for head in heads
            ]
            gone = min(len(ids), MAX_CHOSEN) - len(found)
            return answers.first_ones(act(connection, found, By(account.email, ROUTE), gone), of=len(ids))

        return work

    return prepare


def _by_ids(act: Callable[..., Done]) -> Callable[[Connection, Sequence[Message], By, int], Done]:
    """Give the act the Message-IDs of the messages."""
    return lambda connection, messages, by, gone: act(connection, [one.message_id for one in messages], by, gone=gone)


def _on_mail(mailbox: ConnectedMailbox, prepare_act: Callable[[connected.Chosen, By], Work]) -> Prepare:
    """Fetch the messages of a connected mailbox before the transaction."""

    def prepare(account: Account, choice: Choice) -> Work:
        chosen = (
            connected.choose_all(mailbox, choice.folder, search=choice.search, bound=choice.bound)
            if choice.everything
            else connected.choose(mailbox, choice.rows)
        )
        work = prepare_act(chosen, By(account.email, ROUTE))
        return lambda connection: answers.first_ones(work(connection), of=chosen.total)

    return prepare


def _chosen_snoozes(connection: Connection, account: Account, choice: Choice) -> Sequence[int]:
    """The selected snoozes, or all that match the list's search as of when it was shown."""
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
