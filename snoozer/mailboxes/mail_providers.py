"""Large mailbox providers: their servers, and what they require instead of the usual password."""

from dataclasses import dataclass
from typing import Literal

from snoozer.translations import N_


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Its IMAP server speaks TLS on port 993. `mail_hosts` are the ends of the names of its MX hosts, by which the
    domains of its customers are known. `hint` is a sentence about the password; if `takes_passwords` is False, login by
    password is impossible. `oauth` is the sign-in that it takes (snoozer.runtime.oauth)."""

    name: str
    host: str
    domains: tuple[str, ...]
    mail_hosts: tuple[str, ...] = ()
    hint: str | None = None
    takes_passwords: bool = True
    oauth: Literal["google", "microsoft"] | None = None


PROVIDERS = (
    Provider(
        name="Gmail",
        host="imap.gmail.com",
        domains=("gmail.com", "googlemail.com"),
        mail_hosts=("google.com", "googlemail.com"),
        hint=N_(
            "Gmail wants an app password: in your Google account switch on the 2-step verification, then make one "
            "under Security, App passwords."
        ),
        oauth="google",
    ),
    Provider(
        name="Outlook",
        host="outlook.office365.com",
        domains=("outlook.com", "outlook.de", "hotmail.com", "hotmail.de", "live.com", "live.de", "msn.com"),
        mail_hosts=("protection.outlook.com", "mx.microsoft"),
        hint=N_(
            "Microsoft accepts no passwords from mail programs any more, only its own sign-in, which is not set up in "
            "this Snoozer: an operator can do that. Mail of this address can be brought here as files or by forwarding."
        ),
        takes_passwords=False,
        oauth="microsoft",
    ),
    Provider(
        name="iCloud",
        host="imap.mail.me.com",
        domains=("icloud.com", "me.com", "mac.com"),
        mail_hosts=("mail.icloud.com",),
        hint=N_(
            "iCloud wants an app-specific password, made in your Apple account under Sign-In and Security; the user "
            "name is your main address, not an alias."
        ),
    ),
    Provider(
        name="Yahoo",
        host="imap.mail.yahoo.com",
        domains=("yahoo.com", "yahoo.de", "yahoo.co.uk", "yahoo.fr", "ymail.com", "rocketmail.com"),
        mail_hosts=("yahoodns.net",),
        hint=N_("Yahoo wants an app password, made in your account under Security."),
    ),
    Provider(
        name="AOL",
        host="imap.aol.com",
        domains=("aol.com", "aol.de"),
        hint=N_("AOL wants an app password, made in your account under Security."),
    ),
    Provider(
        name="Fastmail",
        host="imap.fastmail.com",
        domains=("fastmail.com", "fastmail.fm"),
        mail_hosts=("messagingengine.com",),
        hint=N_("Fastmail wants an app password, made in its settings under Privacy & Security."),
    ),
    Provider(
        name="GMX",
        host="imap.gmx.net",
        domains=("gmx.net", "gmx.de", "gmx.at", "gmx.ch"),
        hint=N_(
            "Allow IMAP in the settings of GMX first, under POP3 & IMAP. With two-factor sign-in it wants an "
            "application-specific password."
        ),
    ),
    Provider(
        name="GMX",
        host="imap.gmx.com",
        domains=("gmx.com", "gmx.co.uk", "gmx.us"),
        hint=N_(
            "Allow IMAP in the settings of GMX first, under POP3 & IMAP. With two-factor sign-in it wants an "
            "application-specific password."
        ),
    ),
    Provider(
        name="WEB.DE",
        host="imap.web.de",
        domains=("web.de",),
        hint=N_(
            "Allow IMAP in the settings of WEB.DE first, under POP3/IMAP. With two-factor sign-in it wants an "
            "application-specific password."
        ),
    ),
    Provider(name="Telekom", host="secureimap.t-online.de", domains=("t-online.de", "magenta.de")),
    Provider(name="mailbox.org", host="imap.mailbox.org", domains=("mailbox.org",), mail_hosts=("mailbox.org",)),
    Provider(name="Posteo", host="posteo.de", domains=("posteo.de", "posteo.net", "posteo.org")),
    Provider(
        name="Zoho",
        host="imap.zoho.com",
        domains=("zoho.com", "zohomail.com"),
        mail_hosts=("zoho.com",),
        hint=N_("Allow IMAP in the settings of Zoho Mail first; with two-factor sign-in it wants an app password."),
    ),
)

_BY_DOMAIN = {domain: provider for provider in PROVIDERS for domain in provider.domains}
_BY_HOST = {provider.host: provider for provider in PROVIDERS}


def of_domain(domain: str) -> Provider | None:
    """The provider whose own domain this is."""
    return _BY_DOMAIN.get(domain.lower().rstrip("."))


def of_server(host: str) -> Provider | None:
    """The provider whose IMAP server this is."""
    return _BY_HOST.get(host.lower().rstrip("."))


def of_mail_host(name: str) -> Provider | None:
    """The provider to which mail for a domain goes, by the name of its MX host."""
    folded = f".{name.lower().rstrip('.')}"
    return next((each for each in PROVIDERS if any(folded.endswith(f".{end}") for end in each.mail_hosts)), None)
