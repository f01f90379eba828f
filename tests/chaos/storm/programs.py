"""Programs that snooze and read by the API of a web process, again and again, and what they were answered."""

import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from uuid import uuid4

PAUSE = 0.1
TIMEOUT = 60.0
SNOOZES = "/api/v1/snoozes"
PROBLEM = "application/problem+json"


@dataclass
class Visitor:
    """One program and one web process. `failures` are answers of 500 and more that are no 503 with a sentence, and
    requests without an answer."""

    port: int
    token: str
    answers: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    longest: float = 0.0

    def visit(self) -> None:
        """Snooze a message until next year, then read the list."""
        body = json.dumps({"message_id": f"<{uuid4()}@visitor.example>", "when": "in 300 days"})
        for method, sent in (("POST", body), ("GET", None)):
            began = time.monotonic()
            try:
                status, kind, text = self._ask(method, sent)
            except OSError as error:
                self.failures.append(f"{method}: {error!r}")
                continue
            self.longest = max(self.longest, time.monotonic() - began)
            self.answers[status] += 1
            if status >= 500 and not (status == 503 and kind == PROBLEM and json.loads(text)["detail"].endswith(".")):
                self.failures.append(f"{method}: {status} {text[:300]}")

    @contextmanager
    def visiting(self) -> Iterator[None]:
        """Visits go on inside the block."""
        stopping = Event()

        def go_on() -> None:
            while not stopping.wait(PAUSE):
                self.visit()

        thread = Thread(target=go_on, name="visitor", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()

    def _ask(self, method: str, body: str | None) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Host": "snoozer.example",
        }
        try:
            connection.request(method, SNOOZES, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Content-Type", ""), answer.read().decode()
        finally:
            connection.close()
