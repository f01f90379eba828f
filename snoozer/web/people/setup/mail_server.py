"""The mail server in words: whether it can be used, and how it replied to a test mail."""

from dataclasses import dataclass

from snoozer.mail import headers
from snoozer.mail.smtp.client import check_reachable
from snoozer.mail.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.url import SmtpServer
from snoozer.settings import Settings
from snoozer.translations import current_language
from snoozer.translations import gettext as _
from snoozer.web.people.sign_in.mailing import deliver_notice

CHECK_SECONDS = 5.0
# A server that delays its reply on purpose still gives it.
MAIL_SECONDS = 40.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A result, the server's own words (English, without addresses) and advice; each may be empty."""

    is_good: bool
    text: str
    reply: str = ""
    advice: str = ""


def check(settings: Settings) -> Finding:
    """Connects and logs in; sends no mail."""
    server = SmtpServer.from_url(settings.smtp_url.get_secret_value())
    try:
        check_reachable(server, helo=headers.mail_from_domain(settings.mail_from), deadline=CHECK_SECONDS)
    except ServerUnavailable as error:
        return _unavailable(server, error)
    if settings.sink:
        return Finding(is_good=True, text=_("Snoozer keeps its mails on the page “Sent mail”; nothing leaves here."))
    where = _where(server)
    if server.user:
        return Finding(is_good=True, text=_("%(where)s answers and accepts the login.", where=where))
    return Finding(is_good=True, text=_("%(where)s answers.", where=where))


def send_test_mail(settings: Settings, *, to: str, link: str) -> Finding:
    """Sends the mail with the link, and waits for the server's reply."""
    server = SmtpServer.from_url(settings.smtp_url.get_secret_value())
    try:
        reply = deliver_notice(
            "setup", {"link": link}, to=to, settings=settings, language=current_language(), deadline=MAIL_SECONDS
        )
    except Rejected as error:
        return _rejected(error)
    except ServerUnavailable as error:
        return _unavailable(server, error)
    except NoReplyAfterData as error:
        text = _("The mail server got the test mail and did not say whether it accepts it.")
        return Finding(is_good=False, text=text, reply=str(error), advice=_("It may arrive all the same. Try again."))
    return Finding(is_good=True, text=_("The mail server accepted the test mail."), reply=str(reply))


def _unavailable(server: SmtpServer, error: ServerUnavailable) -> Finding:
    return Finding(
        is_good=False,
        text=_("%(where)s cannot be used. Reminders wait until it can; none is lost.", where=_where(server)),
        reply=str(error),
        advice=_("Check SMTP_URL: the host, the port, the login. After a change, start Snoozer again."),
    )


def _rejected(error: Rejected) -> Finding:
    if error.phase == "mail":
        advice = _("The server does not accept the sender. Check MAIL_FROM, or whether the server wants a login.")
    elif not error.permanent:
        advice = _("The server refuses it for now only. Try again in a few minutes.")
    elif error.is_about_address:
        advice = _("Check the address below.")
    else:
        advice = _("The server’s own words say why. Ask who runs it, or choose another one by SMTP_URL.")
    text = _("The mail server refused the test mail.")
    return Finding(is_good=False, text=text, reply=str(error), advice=advice)


def _where(server: SmtpServer) -> str:
    return f"{server.host}:{server.port}"
