"""The guards of replies: what counts as one, and that each acts once."""

from tests.chaos.mutation.guard import Guard

DB = "tests/db/test_replies.py::"
IMAP = "tests/imap/test_replies.py::"
LOCK = "replies/lock_awaiting"
FUTURE = "\n  AND snooze_promise(snooze) > clock_timestamp()"

REPLY_GUARDS = (
    Guard(
        "a reply past the time does nothing",
        LOCK,
        FUTURE,
        "",
        DB + "test_a_reply_past_the_time_changes_nothing",
    ),
    Guard(
        "only what came since counts",
        LOCK,
        "\n      AND answer.arrived_at >= COALESCE(snooze.reply_since, snooze.created_at) - INTERVAL '10 seconds'",
        "",
        DB + "test_a_message_that_is_added_as_a_file_counts_by_its_date",
    ),
    Guard(
        "a message is no reply to its own thread",
        LOCK,
        "\n      AND answer.own IS DISTINCT FROM snooze.message_id\n"
        "      AND NOT EXISTS (\n"
        "          SELECT 1\n"
        "          FROM messages AS own\n"
        "          WHERE own.snooze_id = snooze.id\n"
        "            AND own.header_id = answer.own\n"
        "      )\n"
        "      AND answer.own IS DISTINCT FROM COALESCE(thread.ids[array_upper(thread.ids, 1)], message.header_id)",
        "",
        DB + "test_a_message_is_no_reply_to_its_own_thread",
    ),
    Guard(
        "a person's own mail is no reply",
        "snoozer/snoozes/replies.py",
        ' if (one.head.sender_email or "").lower() not in own',
        "",
        DB + "test_what_is_no_reply_by_another_person_does_not_count",
    ),
    Guard(
        "a bounce is known by its envelope",
        "snoozer/mail/automatic.py",
        "        has_null_sender\n        or any(",
        "        any(",
        DB + "test_a_bounce_that_only_its_envelope_names_as_one_does_not_count",
    ),
    Guard(
        "what was read is not read again when an inbox counts anew",
        "snoozer/mailboxes/sync/replies.py",
        "read_at is None or fields.internaldate > read_at - CLOCKS_DIFFER",
        "True",
        IMAP + "test_an_inbox_that_counts_anew_is_read_by_date",
    ),
    Guard(
        "an undone cancellation counts later replies only",
        "queue/change_many",
        "snooze.inactive AND NOT act.paused",
        "FALSE",
        DB + "test_a_cancellation_by_a_reply_can_be_undone_and_only_a_later_reply_counts",
    ),
)
