"""Where each way is tried: on a machine or next to a Docker engine, with what stands in for what it lacks."""

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin

import yaml
from playwright.sync_api import Page

from tests.process.conftest import ROOT, a_sink
from tests.process.newcomer import machines, person
from tests.process.newcomer.guide import Way

LOOK_MILLISECONDS = 1000
REPOSITORY = "<this repository>"


@dataclass(frozen=True)
class Place:
    """A place for one way: its own folder, the Debian, this commit as a release, and the file for what is printed."""

    folder: Path
    base: Path
    release: Path
    log: Path


@dataclass(frozen=True)
class Ready:
    """A prepared place: the shell that the commands are typed into, what is typed for which printed words, whether the
    reminder has arrived (the page is signed in), and what stood in for what."""

    shell: Sequence[str | Path]
    values: Mapping[str, str]
    has_arrived: Callable[[Page], bool]
    stood_in: Sequence[str]
    log: Path
    started: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def type(self, way: Way) -> None:
        """Begin to run the commands in one shell, which ends with the first that fails."""
        text = way.block()
        for printed, value in self.values.items():
            text = text.replace(printed, value)
        with self.log.open("wb") as output:
            shell = [*self.shell, f"set -e\n{text}"]
            self.started.append(
                subprocess.Popen(shell, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            )

    def is_running(self) -> bool:
        return all(process.poll() is None for process in self.started)

    def stop(self) -> None:
        for process in self.started:
            process.terminate()
            process.wait()


@contextmanager
def ready(way: Way, place: Place) -> Iterator[Ready]:
    """The place for this way; all that it started ends with the block."""
    place.folder.mkdir()
    with PLACES[way.name](place) as found:
        try:
            yield found
        finally:
            found.stop()


@contextmanager
def _on_a_machine(place: Place) -> Iterator[Ready]:
    """An account without rights on a Debian with Python."""
    with machines.machine(place.base, release=place.release, folder=place.folder, packages=["python3-venv"]) as root:
        shell = [*machines.nspawn(root), "--as-pid2", "su", "--login", "newcomer", "--command"]
        yield Ready(shell, {}, _is_on_sent_mail, ["the wheel of this commit for the package index"], place.log)


@contextmanager
def _on_a_booted_machine(place: Place) -> Iterator[Ready]:
    """Root on a Debian with systemd, and a mail server on the same host."""
    with ExitStack() as stack:
        sink = stack.enter_context(a_sink(place.folder / "accepted.jsonl"))
        root = stack.enter_context(
            machines.machine(place.base, release=place.release, folder=place.folder, packages=["systemd-sysv", "dbus"])
        )
        init = stack.enter_context(machines.booted(root, log=place.folder / "boot.log"))
        stack.callback(_write_journal, init, place.log)
        values = {
            REPOSITORY: f"{machines.RELEASE}/{machines.REPOSITORY}",
            "https://snooze.example.org": "http://127.0.0.1:8000",
            "smtp+starttls://user:password@mail.example.org:587": f"smtp://127.0.0.1:{sink.port}",
        }
        yield Ready(
            [*machines.inside(init), "bash", "-c"],
            values,
            lambda page: any(person.SUBJECT in mail["head"] for mail in sink.accepted()),
            ["systemd-nspawn for the host", *(f"{value} for {printed}" for printed, value in values.items())],
            place.log,
        )


@contextmanager
def _in_docker(place: Place, *, images: Sequence[str], has_arrived: Callable[[Page], bool]) -> Iterator[Ready]:
    """An empty folder next to a Docker engine that has only the images which this checkout does not build."""
    with machines.docker(place.base, folder=place.folder, log=place.folder / "dockerd.log") as environment:
        stood_in = machines.pull([machines.BASE_IMAGE, *images], base=place.base, environment=environment)
        variables = [f"{name}={value}" for name, value in environment.items()]
        repository = str(place.release / machines.REPOSITORY)
        yield Ready(
            ["env", "-i", f"--chdir={environment['HOME']}", *variables, "bash", "-c"],
            {REPOSITORY: repository},
            has_arrived,
            [*stood_in, f"{repository} for {REPOSITORY}"],
            place.log,
        )


def _images() -> list[str]:
    """The images of compose.yaml that this checkout does not build."""
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"].values()
    return sorted({service["image"] for service in services} - {"snoozer"})


def _is_on_sent_mail(page: Page) -> bool:
    """On the page for mail that was kept instead of sent."""
    return _has_subject(page, urljoin(page.url, "/sink"))


def _is_at_mailpit(page: Page) -> bool:
    """On the page of the mail server of compose.yaml."""
    return _has_subject(page, "http://127.0.0.1:8025")


def _has_subject(page: Page, address: str) -> bool:
    other = page.context.new_page()
    other.goto(address)
    other.wait_for_timeout(LOOK_MILLISECONDS)
    found = other.get_by_text(person.SUBJECT).count()
    other.close()
    return bool(found)


def _write_journal(init: int, log: Path) -> None:
    """Append what the units of a booted machine logged."""
    with log.open("ab") as output:
        journal = [*machines.inside(init), "journalctl", "--no-pager", "-u", "snoozer*"]
        subprocess.run(journal, stdout=output, check=False)


PLACES = {
    "wheel": _on_a_machine,
    "image": lambda place: _in_docker(place, images=[], has_arrived=_is_on_sent_mail),
    "compose": lambda place: _in_docker(place, images=_images(), has_arrived=_is_at_mailpit),
    "units": _on_a_booted_machine,
}
