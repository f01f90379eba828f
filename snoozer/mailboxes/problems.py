"""Explain a problem of a connected mailbox in words: what happened, and what its owner can do."""

from dataclasses import dataclass

from snoozer.mailboxes import mail_providers
from snoozer.translations import N_, gettext

_TYPE_AGAIN = N_(
    "Type both once more. Many providers want an app password, made in their settings, and want IMAP to be switched on "
    "there. The user name is often the whole address."
)
_TLS = N_("Port 993 goes with TLS, port 143 with STARTTLS. The password was not sent.")

# By code: what happened, and what to do.
_TEXTS = {
    "name": (
        N_("There is no server of the name %(host)s."),
        N_("Check its spelling. Your provider's help pages name it; often it is imap. and what follows the @."),
    ),
    "port": (
        N_("Port %(port)s is not one of a mailbox."),
        N_("Use 993 with TLS, or 143 with STARTTLS."),
    ),
    "refused_address": (
        N_("%(host)s leads to an address that is not public, and this Snoozer does not connect to it."),
        N_(
            "If it is a server of your own in a private network, an operator of this Snoozer can allow those "
            "(SNOOZER_ALLOW_PRIVATE_MAILBOXES). Link-local and reserved addresses are never connected to."
        ),
    ),
    "unreachable": (
        N_("Nothing answers at %(host)s, port %(port)s."),
        N_("Check the port: 993 with TLS, 143 with STARTTLS. If both are right, the server is away: try again later."),
    ),
    "insecure": (
        N_("Without TLS the password would travel in the clear to %(host)s."),
        N_("Choose TLS or STARTTLS. Connections without either are for private networks only."),
    ),
    "certificate": (
        N_(
            "The certificate of %(host)s cannot be trusted: it has expired, is for another name, or is of an unknown "
            "origin."
        ),
        N_(
            "Use the name that your provider gives for its server. One of your own needs a certificate for its name by "
            "a public authority. The password was not sent."
        ),
    ),
    "tls": (N_("%(host)s and Snoozer cannot agree on a secure connection at port %(port)s."), _TLS),
    "login": (N_("%(host)s did not accept the user name and the password."), _TYPE_AGAIN),
    "no_passwords": (
        N_("%(host)s accepts no passwords."),
        N_("It wants a sign-in of its own, which an operator of this Snoozer can set up."),
    ),
    "sign_in": (
        N_("The sign-in to this mailbox has ended: its provider accepts it no longer."),
        N_("Sign in again."),
    ),
    "token": (
        N_("%(host)s did not accept the sign-in for this address."),
        N_(
            "Sign in with the account of this very address, and allow Snoozer to read and change its mail. IMAP may "
            "have to be switched on in the settings of the mailbox."
        ),
    ),
    "oauth_client": (
        N_("The provider of %(host)s does not accept this Snoozer as a program."),
        N_("An operator of this Snoozer has to set up or renew its registration there."),
    ),
    "oauth_away": (N_("The provider of %(host)s does not answer to sign-ins."), N_("Try again in a few minutes.")),
    "no_refresh_token": (
        N_("The provider gave access to the mailbox for a short time only."),
        N_("Sign in once more, and allow lasting access where it asks."),
    ),
    "throttled": (
        N_("%(host)s accepts no more logins for now."),
        N_("Wait a few minutes, then try again. Too many mail programs may be connected to this mailbox at once."),
    ),
    "protocol": (
        N_("What answers at %(host)s, port %(port)s, is not a mailbox as Snoozer knows it (IMAP)."),
        N_("Check name and port: it is the server for incoming mail, by IMAP, and not the one for sending or POP3."),
    ),
    "gone": (
        N_("%(host)s ended the connection, or took too long to answer."),
        N_("Try again in a few minutes."),
    ),
    "quota": (N_("The mailbox is full."), N_("Delete what you do not need in it, also in its trash.")),
    "denied": (
        N_("The mailbox lacks a right: Snoozer may not create or change folders in it."),
        N_(
            "Ask those who run %(host)s for the right to create folders, or make the folders Snoozed and Snooze by "
            "hand and try again."
        ),
    ),
    "read_only": (
        N_("The inbox can be read, and nothing in it can be moved."),
        N_("Use a login that may change the mailbox."),
    ),
    "no_folder": (N_("A folder that Snoozer needs is not there."), N_("It is made again at the next look.")),
    "busy": (N_("Several mailboxes are being checked at this moment."), N_("Try again in a minute.")),
    "secret": (N_("The key that locked this password is no longer in use."), N_("Enter the password again.")),
}
# Remedies for a mailbox that has worked before.
_AWAY = N_(
    "You need do nothing while this is short. If it lasts, see whether your mail program reaches the mailbox; where "
    "your provider has changed its server, connect the mailbox again with the new one."
)
_LATER = {
    **dict.fromkeys(("name", "unreachable", "tls", "protocol", "gone", "throttled", "oauth_away"), _AWAY),
    "certificate": N_(
        "You need do nothing: those who run %(host)s have to renew its certificate. Until then nothing is sent to it."
    ),
    "login": N_("If you changed the password there, enter the new one here."),
    "token": N_(
        "Sign in again. If that does not help, see whether IMAP is switched on in the settings of the mailbox."
    ),
    "denied": N_("Ask those who run %(host)s for the right to create and change folders."),
}
_UNKNOWN = (
    N_("%(host)s replied with something unexpected."),
    N_("Try again later; an operator of this Snoozer can see more."),
)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """`what` happened and `remedy`, each a sentence or two for people; `code` is for programs."""

    code: str
    what: str
    remedy: str


def explain(code: str, *, host: str, port: int, is_connected: bool = False) -> Problem:
    """The words for a problem with a server, whether or not the mailbox is already connected to it. Every code has
    some."""
    what, remedy = _TEXTS.get(code, _UNKNOWN)
    if is_connected:
        remedy = _LATER.get(code, remedy)
    remedy = gettext(remedy, host=host, port=port)
    provider = mail_providers.of_server(host)
    if code in {"login", "no_passwords"} and provider is not None and provider.hint is not None:
        hint = gettext(provider.hint)
        remedy = f"{remedy} {hint}" if is_connected else hint
    return Problem(code=code, what=gettext(what, host=host, port=port), remedy=remedy)
