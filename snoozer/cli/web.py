"""ENTRANCE for the web: gunicorn with this installation's settings, as the Procfile starts it in a checkout."""

import os

import click

from snoozer.resources import PYTHON_MODULE


@click.command("web", context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[GUNICORN OPTIONS]...")
def command(options: tuple[str, ...]) -> None:
    """Serve pages, API and the links in mails by gunicorn, with its options, such as --bind 0.0.0.0:8000."""
    argv = (*PYTHON_MODULE, "snoozer.web", "-c", "python:snoozer.web.gunicorn", *options)
    os.execv(argv[0], (*argv, "snoozer.web:from_environment()"))  # noqa: S606
