"""A machine that is set up oddly: reminders go out all the same, and one line says what is odd."""

import re
import socket
from contextlib import ExitStack, suppress
from http.client import HTTPConnection

from tests.factories import a_snooze, the_row
from tests.imap.server_process import free_port
from tests.process.conftest import TIMEOUT, Field

SERVED = re.compile(r"metrics are served on http://127\.0\.0\.1:(\d+)/metrics")


def test_on_a_machine_for_trials_links_without_base_url_are_warned_of(place: Field) -> None:
    id = a_snooze(place.engine)
    ended = place.run("worker", "--drain", BASE_URL="")
    assert (ended.returncode, the_row(place.engine, id).outcome) == (0, "sent")
    assert ended.stderr.count("BASE_URL is not set") == 1


def test_a_sender_whose_domain_is_not_ascii_keeps_no_reminder_from_going_out(place: Field) -> None:
    id = a_snooze(place.engine)
    ended = place.run("worker", "--drain", MAIL_FROM="Schlummer <snoozer@snöözer.example>")
    assert (ended.returncode, the_row(place.engine, id).outcome) == (0, "sent")
    [mail] = place.sink.accepted()
    assert mail["message_id"].endswith("@xn--snzer-kuaa.example>")


def test_a_taken_port_for_metrics_stops_no_worker(place: Field) -> None:
    ids = [a_snooze(place.engine) for _ in range(20)]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = place.run("worker", "--drain", "--processes", "2", SNOOZER_METRICS_PORT=str(port))
        assert place.run("clock", "--once", SNOOZER_METRICS_PORT=str(port)).returncode == 0
    assert (ended.returncode, {the_row(place.engine, id).outcome for id in ids}) == (0, {"sent"})
    ports = {int(found[1]) for found in SERVED.finditer(ended.stderr)}
    assert len(SERVED.findall(ended.stderr)) == 2
    assert port not in ports


def test_processes_side_by_side_have_ports_of_their_own(place: Field) -> None:
    lasting = place.start("worker", "--processes", "2", SNOOZER_METRICS_PORT=str(free_port()))
    try:
        assert lasting.stderr is not None
        served: set[int] = set()
        while len(served) < 2 and (line := lasting.stderr.readline()):
            served |= {int(found[1]) for found in SERVED.finditer(line)}
        scrapes = [_metrics(port) for port in served]
    finally:
        lasting.terminate()
        lasting.communicate(timeout=TIMEOUT)
    assert len(scrapes) == 2
    assert all(b"\nprocess_cpu_seconds_total " in metrics for metrics in scrapes)


def _metrics(port: int) -> bytes:
    asked = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    asked.request("GET", "/metrics")
    metrics = asked.getresponse().read()
    asked.close()
    return metrics


def test_where_no_port_is_left_for_metrics_one_line_says_so(place: Field) -> None:
    id = a_snooze(place.engine)
    with ExitStack() as held:
        with suppress(OSError):  # Another process holds it already.
            held.enter_context(socket.create_server(("127.0.0.1", 65_535)))
        ended = place.run("worker", "--drain", SNOOZER_METRICS_PORT="65535")
    assert (ended.returncode, the_row(place.engine, id).outcome) == (0, "sent")
    assert ended.stderr.count("no metrics:") == 1
