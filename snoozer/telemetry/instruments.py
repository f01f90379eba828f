"""All counters and histograms, and their meanings.

At the end of a drain by workers that were not killed, `queue.processed` equals the rows sent in the queue,
`queue.failed` the events `failed` and `retired` of workers (and rows left for a copy in flight), `queue.retired` the
events `retired`, `queue.stale_recovered` the events `recovered`. A process that is killed loses counts that it had not
exported: then each is at most that.
"""

from collections.abc import Sequence

from opentelemetry.metrics import Meter

from snoozer.queue.reminder import Claim, DeliveryOutcome, Recovered
from snoozer.telemetry.labels import ATTEMPTS_SPENT, QUEUE, WORKER_LOST, host_of

ENDED = frozenset({DeliveryOutcome.SENT, DeliveryOutcome.ALREADY_SENT, DeliveryOutcome.RETURNED})

# In seconds. They include the bounds of the lateness bands.
REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LATENESS_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 21_600, 86_400)


class Instruments:
    """The counters and histograms of this process; `worker` is its name if it is a worker."""

    def __init__(self, meter: Meter, *, worker: str | None = None) -> None:
        self._labels = QUEUE | ({} if worker is None else {"worker": host_of(worker)})
        counter, histogram = meter.create_counter, meter.create_histogram
        self._claimed = counter("queue.claimed", unit="1", description="Rows claimed from the queue")
        self._processed = counter("queue.processed", unit="1", description="Rows processed to their end, by verdict")
        self._failed = counter("queue.failed", unit="1", description="Deliveries that failed, by verdict and class")
        self._handed_back = counter("queue.handed_back", unit="1", description="Claims given back without a delivery")
        self._lost = counter("queue.lost_ownership", unit="1", description="Deliveries whose claim was lost meanwhile")
        self._retired = counter("queue.retired", unit="1", description="Rows that became cases")
        self._recovered = counter(
            "queue.stale_recovered", unit="1", description="Claims taken back from lost workers, by their hosts"
        )
        self._duration = histogram("queue.job_duration_ms", unit="ms", description="Time spent on one delivery")
        self._wait = histogram(
            "queue.wait",
            unit="s",
            description="From the promise, or the end of the rest that deferred it, to the claim",
            explicit_bucket_boundaries_advisory=LATENESS_BUCKETS,
        )
        self._lateness = histogram(
            "reminders.lateness",
            unit="s",
            description="From the promise, or the end of the rest that deferred it, to the mail server's 250",
            explicit_bucket_boundaries_advisory=LATENESS_BUCKETS,
        )
        self._requests = histogram(
            "http.server.request.duration",
            unit="s",
            description="Requests: seconds until the response began",
            explicit_bucket_boundaries_advisory=REQUEST_BUCKETS,
        )

        if worker is not None:
            self._start_at_zero()

    def _start_at_zero(self) -> None:
        """Start counters at 0; otherwise Prometheus shows no rate for the first event."""
        for instrument in (self._claimed, self._handed_back, self._lost):
            instrument.add(0, self._labels)
        self._processed.add(0, self._labels | {"verdict": DeliveryOutcome.SENT.value})

    def count_request(self, *, method: str, route: str, status: int, seconds: float) -> None:
        labels: dict[str, str | int] = {"http.request.method": method, "http.route": route}
        self._requests.record(seconds, labels | {"http.response.status_code": status})

    def count_claimed(self, claims: Sequence[Claim]) -> None:
        self._claimed.add(len(claims), self._labels)
        for claim in claims:
            if (waited := _waited(claim)) is not None:
                self._wait.record(waited, self._labels)

    def count_delivery(
        self,
        outcome: DeliveryOutcome,
        *,
        error: str | None,
        is_case: bool,
        seconds: float,
        claim: Claim,
        accepted: float,
    ) -> None:
        labels = self._labels
        if error is not None:
            self._failed.add(1, labels | {"verdict": outcome.value, "error.type": error})
        elif outcome in ENDED:
            self._processed.add(1, labels | {"verdict": outcome.value})
        elif outcome is DeliveryOutcome.LOST:
            self._lost.add(1, labels)
        else:
            self._handed_back.add(1, labels)
        if is_case:
            self._retired.add(1, labels | {"error.type": str(error)})
        # The wait until the claim is by the database's clock, the time after it by a monotonic clock.
        if outcome is DeliveryOutcome.SENT and (waited := _waited(claim)) is not None:
            self._lateness.record(waited + accepted, labels)
        self._duration.record(seconds * 1000, labels)

    def count_sweep(self, *, recovered: Sequence[Recovered], retired: int) -> None:
        for row in recovered:
            labels = QUEUE | {"worker": host_of(row.worker)}
            self._recovered.add(1, labels)
            if row.retired:
                self._retired.add(1, labels | {"error.type": WORKER_LOST})
        if retired:
            self._retired.add(retired, self._labels | {"error.type": ATTEMPTS_SPENT})


def _waited(claim: Claim) -> float | None:
    if claim.claimed_at is None:
        return None
    return max(0.0, (claim.claimed_at - (claim.late_from or claim.scheduled_for)).total_seconds())
