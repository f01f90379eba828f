"""`snoozer all-in-one`: a whole installation as one command, for a home server or a container."""

import sys

import click

from snoozer.dev import up
from snoozer.people.accounts import InvalidAddress, normalize


@click.command("all-in-one")
@click.argument("owner", envvar="SNOOZER_OWNER", required=False, default="")
@click.option("--host", default="0.0.0.0", show_default=True, help="The address of the pages.")  # noqa: S104
def command(owner: str, host: str) -> None:
    """Run all of Snoozer until it is stopped.

    The first start prints a link to a page that makes the first account. With OWNER (or SNOOZER_OWNER), the address of
    an admin, it makes that account itself and prints a sign-in link for it. DATABASE_URL names a database; without it,
    Snoozer runs its own in SNOOZER_HOME. SMTP_URL names the mail server that sends; without it, mail is kept
    on the page Sent mail.
    """
    try:
        up.start(host=host, owner=normalize(owner) if owner else None, is_trial=False)
    except InvalidAddress as error:
        click.echo(f"snoozer: {error}", err=True)
        sys.exit(2)
