"""The guards against waiting: for other transactions' locks, for the disk, and for a mail server that is left alone."""

from tests.chaos.mutation.guard import Guard

LOCK_GUARDS = (
    *(
        Guard(
            f"{verb} waits for no lock of a {row}",
            f"{noun}/{verb}",
            f"{rows} SKIP LOCKED",
            rows,
            f"tests/db/test_locked_rows.py::test_a_locked_row_is_not_waited_for[{verb}-{row}]",
        )
        for noun, verb, row, rows in (
            ("ledger", "record", "send", "OF send"),
            ("ledger", "lock", "send", "UPDATE"),
            ("queue", "finalize", "snooze", "OF snooze"),
            ("queue", "release", "snooze", "OF snooze"),
            ("queue", "schedule_next", "snooze", "OF snooze"),
            ("queue", "schedule_next", "message", "OF kept"),
            ("queue", "unclaim", "snooze", "OF snooze"),
        )
    ),
    *(
        Guard(
            f"a return waits for no lock of a {row}",
            "messages/return_due",
            f"{rows} SKIP LOCKED",
            rows,
            f"tests/db/test_returns.py::{test}",
        )
        for row, rows, test in (
            ("snooze", "OF snooze", "test_a_forgotten_lock_on_one_snooze_keeps_no_other_message"),
            ("message", "OF kept", "test_a_message_does_not_return_while_its_snooze_is_being_cancelled"),
        )
    ),
    Guard(
        "the next occurrence waits for the return of this one",
        "queue/schedule_next",
        " WHERE NOT message.returns",
        "",
        "tests/db/test_returns.py::test_the_next_occurrence_is_promised_once_the_message_of_this_one_is_back",
    ),
    Guard(
        "a message returns once for a promise",
        "functions/snooze_return_at",
        "          AND channel = 'mailbox'\n    ) THEN\n        RETURN NULL;",
        "          AND FALSE\n    ) THEN\n        RETURN NULL;",
        "tests/db/test_returns.py::test_a_message_returns_once_for_a_promise",
    ),
    Guard(
        "what still returns is not archived",
        "queue/archive",
        "AND message.returns_at IS NOT NULL",
        "AND FALSE",
        "tests/db/test_returns.py::test_a_finished_snooze_is_not_archived_before_its_message_is_back",
    ),
    Guard(
        "authorise waits for no lock of a send",
        "ledger/authorise",
        "SKIP LOCKED\n    ) AS open",
        "\n    ) AS open",
        "tests/db/test_locked_rows.py::test_a_locked_row_is_not_waited_for[authorise-send]",
    ),
    Guard(
        "authorise waits for no lock of a snooze",
        "ledger/authorise",
        "SKIP LOCKED\n    ) AS snooze",
        "\n    ) AS snooze",
        "tests/db/test_locked_rows.py::test_a_locked_row_is_not_waited_for[authorise-snooze]",
    ),
    Guard(
        "a claim sees a breaker that was opened",
        "peek/priorities",
        "state <> 'closed'",
        "FALSE",
        "tests/db/test_scheduling.py::test_nothing_is_claimed_once_another_worker_has_opened_the_breaker_but_the_probe",
    ),
    Guard(
        "an authorised dot waits for the disk",
        "ledger/authorise",
        "WHERE its.obstacle IS NULL\n",
        "WHERE its.obstacle IS NULL AND set_config('synchronous_commit', 'off', TRUE) = 'off'\n",
        "tests/db/test_authorise.py::test_a_mark_waits_for_the_disk_and_a_claim_does_not",
    ),
    Guard(
        "a claim whose answer was lost is given back",
        "snoozer/delivery/worker.py",
        "if self._lost_reply:",
        "if False:",
        "tests/process/test_lost_replies.py::test_a_claim_whose_answer_was_lost_is_given_back_by_its_worker",
    ),
)
