"""Shared parts of commands: a refusal in one sentence, tables."""

import sys
from dataclasses import dataclass
from typing import NoReturn

import click
from rich.console import Console
from rich.table import Table

NO_ACCOUNT = "There is no such account; make one with: snoozer account create EMAIL"
CLOSED_ACCOUNT = "This account is closed; open it with: snoozer account open EMAIL"


@dataclass(frozen=True)
class Failure:
    """A problem, and its remedy if known; neither ends with a full stop."""

    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}" if self.remedy else self.problem


def refuse(sentence: str) -> NoReturn:
    """End the command with one sentence on stderr and code 2."""
    click.echo(f"snoozer: {sentence}", err=True)
    sys.exit(2)


def show(*tables: Table) -> None:
    """Print tables: as wide as the terminal; into a file or a pipe wide enough that no line is folded."""
    console = Console() if sys.stdout.isatty() else Console(width=240)
    for table in tables:
        console.print(table)
