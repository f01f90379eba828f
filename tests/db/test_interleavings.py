"""In whatever order the steps of several workers, the clock and the person happen, nothing is lost and no mail is sent
twice without a reason in the ledger.

Each actor has a connection of its own, and its transactions stay open across the others' steps. A step that meets a
lock gives up at once, as it would after a wait in a process of its own, and its transaction is rolled back.
"""

import os
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import Connection, Engine, text

from snoozer.db import health_checks
from snoozer.queue import ledger, queue
from snoozer.queue.promise import ReminderTime
from snoozer.queue.queue import Claims, Lane
from tests import acting
from tests.db import stepping
from tests.db.stepping import AT_ONCE, NO_HOLD, SNOOZES, Actor, Job
from tests.db.transitions import LEASE, NEXT_TRY
from tests.emptying import empty
from tests.factories import a_snooze, now

WORKERS = ("first", "second")
PERSON, CLOCK = "person", "clock"
# Two of them speak of time, which stands still here.
TIMELESS = ("one_send_per_promise", "sent_stays_sent", "finished_has_its_send", "no_second_dot")

workers = st.sampled_from(WORKERS)
actors = st.sampled_from((*WORKERS, PERSON, CLOCK))
# The first rows, and some of those that come to be when a message is put away anew.
snoozes = st.integers(1, 2 * SNOOZES)
picks = st.integers(0, SNOOZES - 1)
# `make storm` runs all examples, a test run the first of them.
FULL = os.environ.get("SNOOZER_STORM") == "1"
LAPSED_AND_DUE = (
    f"UPDATE email_snoozes SET lease_expires_at = claimed_at - INTERVAL '1 second', {NEXT_TRY} AND NOT inactive"  # noqa: S608
)
# Most transactions are over at once, some stay open while others act.
commits = st.integers(0, 3).map(bool)


class Interleavings(RuleBasedStateMachine):
    """Steps of the protocol in any order. `delivered` is what the mail server took, by Message-ID of the reminder."""

    def __init__(self, engine: Engine, *, key: str | None) -> None:
        super().__init__()
        self.engine = engine
        empty(engine)
        for number in range(1, SNOOZES + 1):
            a_snooze(engine, message_id=_message(number), serialization_key=key)
        self.actors = {name: Actor(name, engine.connect()) for name in (*WORKERS, PERSON, CLOCK)}
        self.delivered: Counter[str] = Counter()

    @rule(worker=workers, commit=commits, size=st.integers(1, SNOOZES), steps=st.integers(0, 4))
    def take(self, worker: str, commit: bool, size: int, steps: int = 0) -> None:
        """Claim and begin."""
        actor = self.actors[worker]

        def take(connection: Connection) -> None:
            ask = partial(queue.claim, connection, worker=worker, batch_size=size, lease=LEASE)
            lanes = (Lane(crashes=crashes, keyed=keyed) for crashes in (2, 1, 0) for keyed in (True, False))
            claims = next(filter(None, (ask(lane=lane) for lane in lanes)), Claims())
            ids = [claim.id for claim in claims]
            found = ledger.list_sendable(
                connection, worker=worker, ids=ids, domain="snoozer.example", uncertainty=NO_HOLD
            )
            sends = {send.snooze_id: send for send in found}
            for claim in claims:
                if claim.id in sends:
                    actor.learnt.append(partial(actor.jobs.append, Job(claim=claim, send=sends[claim.id])))
                else:
                    stepping.resolve_known(connection, claim)

        self._act(worker, take, commit=commit)
        for job in list(actor.jobs):
            self._go_on(actor, job, steps=steps, commit=commit)

    @rule(pick=picks, steps=st.integers(1, 5), commit=commits)
    def go_on(self, pick: int, steps: int, commit: bool) -> None:
        """The next steps of a delivery: authorise, dot, record, finalize."""
        for worker, job in self._picked(pick, lambda _: True):
            self._go_on(self.actors[worker], job, steps=steps, commit=commit)

    @rule(pick=picks, commit=commits)
    def get_no_reply(self, pick: int, commit: bool) -> None:
        for worker, job in self._picked(pick, lambda job: job.dotted and not job.replied):
            self._act(worker, partial(stepping.get_no_reply, actor=self.actors[worker], job=job), commit=commit)

    @rule(pick=picks, commit=commits)
    def fail_before_the_dot(self, pick: int, commit: bool) -> None:
        for worker, job in self._picked(pick, lambda job: not job.dotted):
            self._act(worker, partial(stepping.fail, actor=self.actors[worker], job=job), commit=commit)

    @rule(actor=actors)
    def commit(self, actor: str) -> None:
        self.actors[actor].commit()

    @rule(worker=workers)
    def die(self, worker: str) -> None:
        """kill -9: what was not committed never was, and what the mail server replied is unknown."""
        self.actors[worker].roll_back()
        self.actors[worker].jobs.clear()

    @rule(id=snoozes)
    def lose_the_lease(self, id: int) -> None:
        with self.engine.begin() as connection:
            connection.execute(text("SET LOCAL lock_timeout = '1ms'"))
            stepping.unless_locked(
                lambda: connection.execute(
                    text(
                        "UPDATE email_snoozes SET lease_expires_at = claimed_at - INTERVAL '1 second' "
                        "WHERE id = :id AND claimed_at IS NOT NULL"
                    ),
                    {"id": id},
                )
            )

    @rule(commit=commits)
    def recover(self, commit: bool) -> None:
        self._act(CLOCK, stepping.recover, commit=commit)

    @rule(commit=commits)
    def sweep_the_ledger(self, commit: bool) -> None:
        def sweep(connection: Connection) -> None:
            ledger.expire_orphans(connection, deadline=AT_ONCE, batch_size=SNOOZES)
            ledger.abandon(connection, hold=AT_ONCE, batch_size=SNOOZES)

        self._act(CLOCK, sweep, commit=commit)

    @rule(id=snoozes, commit=commits, undone=st.booleans())
    def cancel(self, id: int, commit: bool, undone: bool) -> None:
        def cancel(connection: Connection) -> None:
            acting.cancel(connection, id)
            if undone:
                acting.undo(connection, id)

        self._act(PERSON, cancel, commit=commit)

    @rule(number=st.integers(1, SNOOZES), commit=commits)
    def put_away_anew(self, number: int, commit: bool) -> None:
        self._act(
            PERSON,
            lambda connection: acting.snooze(
                connection, message_id=_message(number), reminder_time=ReminderTime(remind_at=now())
            ),
            commit=commit,
        )

    @rule(id=snoozes, commit=commits)
    def change_the_time(self, id: int, commit: bool) -> None:
        appointment = ReminderTime(remind_at=now())
        self._act(
            PERSON,
            lambda connection: acting.reschedule(connection, id, appointment),
            commit=commit,
        )

    @precondition(lambda self: any(self.delivered.values()))
    @invariant()
    def every_copy_is_explained(self) -> None:
        with self.engine.connect() as connection:
            sends = connection.execute(text("SELECT reminder_message_id, resends FROM reminder_sends")).all()
        resends = {row.reminder_message_id: row.resends for row in sends}
        for reminder, copies in self.delivered.items():
            assert copies <= 1 + resends[reminder]

    @invariant()
    def the_views_are_empty(self) -> None:
        with self.engine.connect() as connection:
            assert {name: health_checks.violations(connection, name) for name in TIMELESS} == {
                name: [] for name in TIMELESS
            }

    def teardown(self) -> None:
        """Everybody dies; one more worker must bring every snooze that is still wanted to its end."""
        try:
            for actor in self.actors.values():
                actor.roll_back()
            self._work_everything_off()
            self.every_copy_is_explained()
            self.the_views_are_empty()
            with self.engine.connect() as connection:
                rows = connection.execute(text("SELECT id, outcome, remind_at FROM email_snoozes ORDER BY id")).all()
                assert len(rows) >= SNOOZES
                assert {row.outcome for row in rows} <= {"sent", "cancelled", "retired"}
                unsent = connection.execute(
                    text(
                        "SELECT send.reminder_message_id FROM reminder_sends AS send "
                        "WHERE send.state = 'sent' AND send.resolution IS DISTINCT FROM 'no longer wanted'"
                    )
                ).scalars()
                assert all(self.delivered[reminder] for reminder in unsent)
        finally:
            for actor in self.actors.values():
                actor.connection.close()

    def _work_everything_off(self) -> None:
        last = self.actors[WORKERS[0]]
        for actor in self.actors.values():
            actor.jobs.clear()
        for _ in range(12):
            with self.engine.begin() as connection:
                connection.execute(text(LAPSED_AND_DUE))
                stepping.recover(connection)
                connection.execute(text(f"UPDATE email_snoozes SET {NEXT_TRY} AND NOT inactive"))  # noqa: S608
            self.take(WORKERS[0], commit=True, size=SNOOZES)
            for _ in list(last.jobs):
                self.go_on(0, steps=4, commit=True)
            last.jobs.clear()

    def _go_on(self, actor: Actor, job: Job, *, steps: int, commit: bool) -> None:
        for _ in range(steps):
            if actor.learnt:
                actor.commit()
            elif job not in actor.jobs:
                return
            elif job.marked and not job.dotted:
                # The mail server takes it. The worker may have slept since its mark, which is not visible from outside.
                job.dotted = True
                self.delivered[job.send.reminder_message_id] += 1
            else:
                self._act(actor.name, partial(stepping.next_step, actor=actor, job=job), commit=commit)

    def _picked(self, number: int, wanted: Callable[[Job], bool]) -> list[tuple[str, Job]]:
        """One of all the jobs that are so far, and whose it is; none when there is none."""
        fitting = [(name, job) for name, actor in self.actors.items() for job in actor.jobs if wanted(job)]
        return [fitting[number % len(fitting)]] if fitting else []

    def _act(self, name: str, act: Callable[[Connection], object], *, commit: bool) -> None:
        actor = self.actors[name]
        if not actor.connection.in_transaction():
            actor.connection.execute(text("SET LOCAL lock_timeout = '1ms'"))
        if not stepping.unless_locked(lambda: act(actor.connection)):
            actor.roll_back()
        elif commit:
            actor.commit()


def _message(number: int) -> str:
    return f"<message-{number}@mail.example>"


@pytest.mark.parametrize("key", [None, "mailbox-1"], ids=["free", "of one key"])
def test_no_interleaving_of_workers_clock_and_person_breaks_the_promise(engine: Engine, key: str | None) -> None:
    class Here(Interleavings):
        def __init__(self) -> None:
            super().__init__(engine, key=key)

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=100 if FULL else 25,
            stateful_step_count=50,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
