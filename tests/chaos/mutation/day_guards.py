"""The guards of a person's day: nothing comes within a rest, and all of it at the end, once."""

from tests.chaos.mutation.guard import Guard

DB = "tests/db/test_day_shapes.py::"

DAY_GUARDS = (
    Guard(
        "no mail is sent within a rest",
        "functions/snooze_obstacle",
        "\n            (SELECT until FROM snooze_deferral(snooze.user_email, snooze.id, snooze_promise(snooze)))",
        "\n            NULL",
        DB + "test_what_is_due_in_quiet_hours_comes_at_their_end",
    ),
    Guard(
        "rest shows the token",
        "queue/rest",
        "\n    WHERE snooze.claim_token = requested.claim_token",
        "",
        DB + "test_a_late_worker_defers_nothing",
    ),
    Guard(
        "a message does not return within a rest that is not entered yet",
        "messages/return_due",
        "\n          OR (SELECT until FROM snooze_deferral(kept.user_email, kept.snooze_id, kept.returns_at)) IS NULL",
        "\n          OR TRUE",
        DB + "test_a_message_that_is_due_as_a_rest_begins_does_not_return",
    ),
    Guard(
        "the message of a sent repetition returns within a rest",
        "snoozer/db/mailbox_store.py",
        "        undefer(connection, snooze_ids=snooze_ids)\n",
        "        pass\n",
        DB + "test_a_recurring_snooze_whose_reminder_was_quicker_than_the_rest_goes_on",
    ),
    Guard(
        "a backoff is not cut short when the day changes",
        "queue/undefer",
        "\n      AND remind_at = deferred_until",
        "",
        DB + "test_a_retry_that_waits_for_its_backoff_keeps_it_when_the_day_changes",
    ),
    Guard(
        "a shape that changes while it is computed is not overwritten",
        "day_shapes/lock_stale",
        "\n    FOR NO KEY UPDATE OF day SKIP LOCKED",
        "",
        DB + "test_a_day_that_another_transaction_computes_holds_nothing_up",
    ),
    Guard(
        "a promise by a person is not deferred by the last one",
        "functions/email_snoozes_promise",
        "        NEW.deferred_until := NULL;\n        NEW.deferred_by := NULL;\n",
        "",
        DB + "test_a_new_time_for_a_message_that_was_deferred_is_its_time",
    ),
)
