"""The guards of digests: each reminder comes in exactly one mail."""

from tests.chaos.mutation.guard import Guard

DB = "tests/db/test_digests.py::"
SQL = "snoozer/db/sql/"

DIGEST_GUARDS = (
    Guard(
        "a member has no mail of its own",
        SQL + "ledger/reserve.sql",
        "\n          AND NOT snooze_is_gathered(promise.user_email, promise.id, promise.scheduled_for)",
        "",
        DB + "test_more_than_the_person_wants_come_in_one_mail_and_are_settled_by_it",
    ),
    Guard(
        "a digest that a worker holds is not dissolved",
        SQL + "digests/lock.sql",
        "\n      AND snooze.claim_token IS NULL",
        "",
        DB + "test_a_digest_that_a_worker_has_written_is_not_dissolved",
    ),
    Guard(
        "a digest with a mark is not dissolved",
        SQL + "digests/dissolve.sql",
        "\n      AND (\n          send.id IS NULL",
        "\n      AND (\n          TRUE",
        DB + "test_after_silence_the_copy_lists_the_same_and_no_member_comes_singly",
    ),
    Guard(
        "the members of a mail that may have been sent stay",
        "snoozer/delivery/digesting.py",
        " if send.bytes_sha256 is None",
        "",
        DB + "test_after_silence_the_copy_lists_the_same_and_no_member_comes_singly",
    ),
    Guard(
        "a member that is over is left out",
        SQL + "digests/leave.sql",
        "\n        AND NOT snooze.inactive",
        "",
        DB + "test_a_member_that_is_cancelled_before_it_is_written_is_not_in_it",
    ),
    Guard(
        "nothing is gathered while a row of it is being reserved",
        SQL + "digests/gather.sql",
        "HAVING count(ended.id) = count(waiting.id)",
        "HAVING TRUE",
        DB + "test_a_digest_waits_for_a_row_that_is_being_claimed",
    ),
    Guard(
        "as many as the person wants come singly",
        SQL + "digests/gather.sql",
        "total > gathers_over",
        "total >= gathers_over",
        DB + "test_as_many_as_the_person_wants_come_singly",
    ),
    Guard(
        "a rest with nothing to gather was looked at",
        SQL + "digests/gather.sql",
        "LEFT JOIN ended USING",
        "JOIN ended USING",
        DB + "test_rows_under_another_spelling_of_the_address_come_singly",
    ),
    Guard(
        "the ledger knows what a digest reminded of",
        "snoozer/delivery/settling.py",
        "    if digested:\n",
        "    if False:\n",
        DB + "test_more_than_the_person_wants_come_in_one_mail_and_are_settled_by_it",
    ),
    Guard(
        "what an operator reactivates has a mail of its own",
        "snoozer/triage.py",
        "    digests.release(connection, ids=reactivated)\n",
        "",
        DB + "test_members_of_a_digest_without_an_answer_are_cases_and_come_singly_when_reactivated",
    ),
)
