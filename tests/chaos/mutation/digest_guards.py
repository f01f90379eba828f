"""The guards of digests: each reminder comes in exactly one mail."""

from tests.chaos.mutation.guard import Guard

DB = "tests/db/test_digests.py::"
KNOWN = "tests/db/test_digests_known.py::"

DIGEST_GUARDS = (
    Guard(
        "a member has no mail of its own",
        "functions/snooze_obstacle",
        "\n            WHERE member.snooze_id = snooze.id\n",
        "\n            WHERE FALSE\n",
        DB + "test_more_than_the_person_wants_come_in_one_mail_and_are_settled_by_it",
    ),
    Guard(
        "no single mail is sent before its rest was looked at",
        "functions/snooze_obstacle",
        "\n            OR snooze_may_be_gathered(snooze.user_email, snooze.id)",
        "",
        DB + "test_more_than_the_person_wants_come_in_one_mail_and_are_settled_by_it",
    ),
    Guard(
        "a digest that a worker holds is not dissolved",
        "digests/lock",
        "\n      AND snooze.claim_token IS NULL",
        "",
        DB + "test_a_digest_that_a_worker_has_written_is_not_dissolved",
    ),
    Guard(
        "a digest with a mark is not dissolved",
        "digests/dissolve",
        "\n      AND (\n          send.id IS NULL",
        "\n      AND (\n          TRUE",
        DB + "test_after_silence_the_copy_lists_the_same_and_no_member_comes_singly",
    ),
    Guard(
        "the members of a mail that may have been sent stay",
        "snoozer/queue/digests.py",
        " if send.bytes_sha256 is None",
        "",
        DB + "test_after_silence_the_copy_lists_the_same_and_no_member_comes_singly",
    ),
    Guard(
        "a digest that lists what changed gets no dot",
        "ledger/authorise",
        "requested.members = (SELECT count(*) FROM member WHERE member.digest_id = requested.digest_id)",
        "TRUE",
        "tests/db/test_authorise.py::test_a_digest_that_lists_what_its_person_changed_gets_no_dot[cancelled]",
    ),
    Guard(
        "a single mail gets no dot once its promise was gathered",
        "ledger/authorise",
        "requested.digest_id IS NOT DISTINCT FROM (",
        "0 IS DISTINCT FROM (",
        "tests/db/test_authorise.py::test_a_single_mail_that_was_composed_before_its_promise_was_gathered_gets_no_dot",
    ),
    Guard(
        "a member that is over is left out",
        "digests/leave",
        "\n        AND NOT snooze.inactive",
        "",
        DB + "test_a_member_that_its_person_changes_before_it_is_written_is_not_in_it[cancelled]",
    ),
    Guard(
        "nothing is gathered while a row of it is being claimed",
        "digests/gather",
        "WHERE COALESCE(due.total, 0) = COALESCE(locked.total, 0)",
        "WHERE TRUE",
        DB + "test_a_digest_waits_for_a_row_that_is_being_claimed",
    ),
    Guard(
        "as many as the person wants come singly",
        "digests/gather",
        "total > gathers_over",
        "total >= gathers_over",
        DB + "test_as_many_as_the_person_wants_come_singly",
    ),
    Guard(
        "a rest with nothing to gather was looked at",
        "digests/gather",
        "AS due USING (account_id)\n    LEFT JOIN",
        "AS due USING (account_id)\n    JOIN",
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
        "snoozer/operators/row_acts.py",
        "        digests.release(connection, ids=cases)\n",
        "",
        DB + "test_members_of_a_digest_without_an_answer_are_cases_and_come_singly_when_reactivated",
    ),
    Guard(
        "a member learns of its digest though the shape of the day is gone",
        "digests/dissolve",
        "    LEFT JOIN day_shapes AS day",
        "    JOIN day_shapes AS day",
        KNOWN + "test_without_the_shape_of_the_day_what_was_not_sent_comes_singly",
    ),
    Guard(
        "a button of a notification says nothing of a digest",
        "ledger/acknowledge",
        "          :by_mail\n          OR NOT EXISTS",
        "          TRUE\n          OR NOT EXISTS",
        KNOWN + "test_a_button_of_a_notification_says_nothing_of_a_mail_that_reminds_of_others",
    ),
    Guard(
        "a link of a member says that the digest came",
        "ledger/acknowledge",
        "\n      AND :by_mail\n))",
        "\n      AND FALSE\n))",
        KNOWN + "test_who_is_done_with_one_of_them_by_the_mail_gets_no_copy_of_it",
    ),
    Guard(
        "the clock enters what no claim did",
        "snoozer/delivery/chores/chores.py",
        '        ("settle digests", digests.settle, BATCH_SIZE),\n',
        "",
        KNOWN + "test_the_clock_enters_what_was_cancelled_or_paused_while_the_mail_was_under_way",
    ),
    Guard(
        "a digest whose mail may have been sent is kept",
        "digests/prune",
        "lead.state IN ('sending', 'sent', 'uncertain')",
        "lead.state IN ('sending', 'sent')",
        KNOWN + "test_a_digest_whose_mail_may_have_been_sent_is_kept",
    ),
    Guard(
        "a digest stands for itself",
        "ledger/find_reminders",
        "  AND NOT EXISTS (\n      SELECT 1\n      FROM digests AS digest",
        "  AND NOT EXISTS (\n      SELECT 1\n      FROM (SELECT * FROM digests WHERE FALSE) AS digest",
        KNOWN + "test_a_digest_in_the_mailbox_stands_for_itself_and_proves_that_it_came",
    ),
    Guard(
        "a row that the ledger refuses keeps no reminder back",
        "snoozer/delivery/holds.py",
        "        if not (is_row_error(error) or is_timeout(error)):\n            raise\n",
        "        raise\n",
        DB + "test_a_row_that_the_ledger_refuses_keeps_no_reminder_of_its_person_back",
    ),
)
