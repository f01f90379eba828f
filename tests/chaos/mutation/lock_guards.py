"""The guards against waiting: for other transactions' locks, for the disk, and for a mail server that is left alone."""

from tests.chaos.mutation.guard import Guard

LOCK_GUARDS = (
    *(
        Guard(
            f"{verb} waits for no lock of a {row}",
            f"snoozer/db/sql/{folder}/{verb}.sql",
            f"{rows} SKIP LOCKED",
            rows,
            f"tests/db/test_locked_rows.py::test_a_locked_row_is_not_waited_for[{verb}-{row}]",
        )
        for folder, verb, row, rows in (
            ("ledger", "mark", "snooze", "OF snooze, send"),
            ("ledger", "mark", "send", "OF snooze, send"),
            ("ledger", "record", "send", "OF send"),
            ("ledger", "lock", "send", "UPDATE"),
            ("queue", "finalize", "snooze", "OF snooze"),
            ("queue", "finalize", "message", "OF kept"),
            ("queue", "release", "snooze", "OF snooze"),
            ("queue", "schedule_next", "snooze", "OF snooze"),
            ("queue", "schedule_next", "message", "OF kept"),
            ("queue", "unclaim", "snooze", "OF snooze"),
        )
    ),
    Guard(
        "a reservation waits for no lock",
        "snoozer/db/sql/ledger/reserve.sql",
        " SKIP LOCKED",
        "",
        "tests/db/test_locked_rows.py::test_a_locked_entry_of_an_earlier_attempt_stops_no_claim",
    ),
    Guard(
        "a claim sees a breaker that was opened",
        "snoozer/db/sql/peek/priorities.sql",
        "state <> 'closed'",
        "FALSE",
        "tests/db/test_scheduling.py::test_nothing_is_claimed_once_another_worker_has_opened_the_breaker_but_the_probe",
    ),
    Guard(
        "a mark waits for the disk",
        "snoozer/db/sql/ledger/mark.sql",
        "WHERE send.id = locked.id",
        "WHERE send.id = locked.id AND set_config('synchronous_commit', 'off', TRUE) = 'off'",
        "tests/db/test_ledger.py::test_a_mark_waits_for_the_disk_and_a_claim_does_not",
    ),
    Guard(
        "a claim whose answer was lost is given back",
        "snoozer/delivery/worker.py",
        "if self._lost_reply:",
        "if False:",
        "tests/process/test_lost_replies.py::test_a_claim_whose_answer_was_lost_is_given_back_by_its_worker",
    ),
)
