"""The share target of the installed app: shared content opens the Add page, filled in. Nothing is saved.

The request comes from outside, so it has no form token. It needs none: it changes nothing, and the resulting page has a
form with a token, which a person submits. A foreign page that posts here only shows its own text on a page of this
site, like a link to a search.

The session's cookie is SameSite=Lax. A share comes from the device and not from a site, and browsers send the cookie
along; a browser that treats it as a post of another site does not. Then the content is shown with a button, whose
request comes from this site and has the cookie.
"""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.queue.limits import MAX_NOTE_LENGTH
from snoozer.translations import gettext as _
from snoozer.web import auth
from snoozer.web.forms import one_line
from snoozer.web.mailboxes.mail.add_page import MAX_SUBJECT_LENGTH, add_page
from snoozer.web.snoozes.forms import snooze_form

blueprint = Blueprint("share", __name__)

FIELDS = ("title", "text", "url")


@blueprint.post("/share")
def receive() -> ResponseReturnValue:
    shared = {name: request.form.get(name, "") for name in FIELDS}
    if auth.current_account() is None:
        return render_template("share/hold.html", shared=shared, tried="held" in request.form)
    subject, note = _as_reminder(shared)
    # The service worker hands files to the page itself; without it they must be chosen again.
    file_error = _("Choose the file here: your browser did not hand it over.") if request.files else None
    form = snooze_form(auth.time_formatter(), saved_times=auth.saved_times(), note=note)
    return add_page(form=form, subject=subject, file_error=file_error)


def _as_reminder(shared: dict[str, str]) -> tuple[str | None, str]:
    """Subject and note: the title, or else the first line of the text or the address; the rest is the note."""
    text, url = shared["text"].strip(), shared["url"].strip()
    if url in text:
        url = ""
    subject = one_line(shared["title"], max_length=MAX_SUBJECT_LENGTH)
    if subject is None:
        first, _, text = text.partition("\n") if text else (url, "", "")
        subject = one_line(first, max_length=MAX_SUBJECT_LENGTH)
        url = "" if first == url else url
    note = "\n".join(part for part in (text.strip(), url) if part)
    return subject, note if len(note) <= MAX_NOTE_LENGTH else f"{note[: MAX_NOTE_LENGTH - 1]}…"
