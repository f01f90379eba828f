"""The options below the search field, requested by its script while a person types."""

from collections.abc import Sequence
from typing import get_args

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import Found, senders
from snoozer.mailboxes.read.kept import stored_folder
from snoozer.mailboxes.read.mailbox import MailboxError
from snoozer.mailboxes.search_terms import open_term
from snoozer.web import context
from snoozer.web.auth import login_required, time_formatter
from snoozer.web.snoozes.search import MAX_LENGTH
from snoozer.web.snoozes.search_suggestions import suggestions
from snoozer.web.snoozes.search_suggestions.suggestions import MOST, List

blueprint = Blueprint("search_suggestions", __name__)


@blueprint.get("/search/suggestions")
@login_required
def show(account: Account) -> ResponseReturnValue:
    """Suggestions after `typed`, the text up to the caret, in the search of `list`; for the kept mailbox, in its
    `folder`."""
    shown: List
    for shown in get_args(List):
        if shown == request.args.get("list"):
            break
    else:
        abort(400)
    try:
        folder = stored_folder(request.args.get("folder") or None) if shown == "kept" else "inbox"
    except MailboxError:
        abort(400)

    def found(text: str) -> Sequence[Found]:
        with context.transaction() as connection:
            if shown == "kept":
                return senders.of_kept(connection, user_email=account.email, folder=folder, text=text, size=MOST)
            return senders.of_snoozes(connection, user_email=account.email, text=text, size=MOST)

    term = open_term(request.args.get("typed", "")[:MAX_LENGTH], suggestions.names_of(shown))
    offered = suggestions.suggest(term, shown, times=time_formatter(), senders=found)
    return render_template("snoozes/search_suggestions/options.html", suggestions=offered)
