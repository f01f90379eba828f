"""In whatever order chunks of two operators, a cancellation, the person and a delivery happen: no row is acted on twice
by one act, what was sent is not sent again, and the audit log has what was done."""

import os
from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from snoozer.operators import chunks
from snoozer.operators.chunks import cancel
from snoozer.queue import ledger
from tests import acting
from tests.db.operations import OPERATOR, an_operation
from tests.db.transitions import authorise, claim, finalize, record, sendable
from tests.emptying import empty
from tests.next_try import SECOND, set_next_try
from tests.web.cases import an_uncertain_case

# `make storm` runs all examples.
FULL = os.environ.get("SNOOZER_STORM") == "1"
STEPS = ("chunk 1", "chunk 2", "cancel 1", "cancel 2", "person", "undo", "deliver", "lose", "late")


class Story:
    """Two uncertain cases, an operation of each operator on both, and what the mail server took of each snooze."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        empty(engine)
        self.ids = [an_uncertain_case(engine) for _ in range(2)]
        self.dots: Counter[int] = Counter()
        self.sent: set[int] = set()
        first = an_operation(engine, act="resolve_resend", ids=self.ids)
        second = an_operation(engine, act="reactivate", ids=self.ids, actor="operator:2")
        self.operations = {"1": first, "2": second}

    def step(self, name: str) -> None:
        what, _, which = name.partition(" ")
        steps: dict[str, Callable[[], object]] = {
            "chunk": lambda: chunks.do_chunk(self.engine, self.operations[which], chunk_size=1),
            "cancel": lambda: self.cancel(self.operations[which]),
            "person": lambda: self.person(acting.cancel),
            "undo": lambda: self.person(acting.undo),
            "deliver": lambda: self.deliver(answered=True),
            "lose": lambda: self.deliver(answered=False),
            "late": self.answer_late,
        }
        steps[what]()

    def cancel(self, id: int) -> None:
        with self.engine.begin() as connection:
            cancel(connection, id=id, actor=OPERATOR)

    def person(self, act: Callable[..., bool]) -> None:
        with self.engine.begin() as connection:
            act(connection, self.ids[0])

    def deliver(self, *, answered: bool) -> None:
        """All that is due; without an answer the row waits to be taken back."""
        with self.engine.begin() as connection:
            set_next_try(connection, -SECOND, "NOT inactive")
        for held in claim(self.engine):
            for entry in sendable(self.engine, held):
                assert authorise(self.engine, entry)
                assert held.id not in self.sent, "what was sent is sent again"
                self.dots[held.id] += 1
                if answered:
                    record(self.engine, entry)
                    self.sent.add(held.id)
                    finalize(self.engine, held)

    def answer_late(self) -> None:
        """The answer to the first copy of each comes after all."""
        with self.engine.begin() as connection:
            rows = connection.execute(text("SELECT * FROM reminder_sends WHERE state = 'uncertain'")).all()
            facts = [
                ledger.Fact(
                    reminder_message_id=row.reminder_message_id,
                    snooze_id=row.snooze_id,
                    claim_token=row.claim_token,
                    smtp_code=250,
                    enhanced_code=None,
                    reply="queued",
                    queue_id=None,
                )
                for row in rows
            ]
            if facts:
                ledger.record(connection, facts=facts)
        self.sent |= {row.snooze_id for row in rows}

    def check(self) -> None:
        with self.engine.connect() as connection:
            done = connection.execute(
                text("SELECT operation_id, snooze_id FROM operation_members WHERE result = 'done' ORDER BY 1, 2")
            ).all()
            audited = connection.execute(
                text(
                    "SELECT operation_id, snooze_id FROM audit_log"
                    " WHERE operation_id = ANY(:ids) AND snooze_id IS NOT NULL ORDER BY 1, 2"
                ),
                {"ids": list(self.operations.values())},
            ).all()
            counts = connection.execute(
                text(
                    "SELECT bool_and(o.done = (SELECT count(*) FROM operation_members WHERE operation_id = o.id"
                    " AND result = 'done')) FROM operations AS o"
                )
            ).scalar_one()
        assert audited == done
        assert counts
        assert all(self.dots[id] <= sum(row.snooze_id == id for row in done) for id in self.ids)


@settings(max_examples=30 if FULL else 5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(steps=["late", "chunk 1", "chunk 1", "chunk 2", "chunk 2", "deliver"])
@example(steps=["chunk 1", "deliver", "chunk 2", "chunk 2", "deliver"])
@example(steps=["chunk 1", "chunk 1", "person", "chunk 2", "undo", "deliver"])
@given(steps=st.lists(st.sampled_from(STEPS), max_size=12))
def test_no_row_is_acted_on_twice_and_nothing_sent_is_sent_again(engine: Engine, steps: list[str]) -> None:
    story = Story(engine)
    for step in steps:
        story.step(step)
        story.check()
