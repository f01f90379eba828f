"""The guards of the one write before the dot, and of what may be composed at all."""

from tests.chaos.mutation.guard import Guard

LEDGER = "tests/db/test_ledger.py::"
AUTHORISE = "tests/db/test_authorise.py::"

DOT_GUARDS = (
    Guard(
        "a dot is authorised with the token",
        "ledger/authorise",
        "claimed.claim_token = requested.claim_token\n          AND ",
        "",
        AUTHORISE + "test_a_worker_whose_claim_was_taken_authorises_nothing",
    ),
    Guard(
        "a dot is authorised within the lease",
        "ledger/authorise",
        "\n          AND claimed.lease_expires_at > clock_timestamp()",
        "",
        AUTHORISE + "test_a_worker_whose_lease_ran_out_authorises_nothing",
    ),
    Guard(
        "a cancellation under way gets no dot",
        "ledger/authorise",
        "\n        FOR NO KEY UPDATE SKIP LOCKED\n    ) AS snooze\n),",
        "\n    ) AS snooze\n),",
        AUTHORISE + "test_a_cancellation_under_way_gets_no_dot",
    ),
    Guard(
        "a row that changed since its claim gets no dot",
        "ledger/authorise",
        "\n          AND claimed.updated_at IS NOT DISTINCT FROM claimed.claimed_at",
        "",
        AUTHORISE + "test_a_row_that_changed_since_its_claim_gets_no_dot",
    ),
    Guard(
        "what is in the way of a mail is asked for again before its dot",
        "ledger/authorise",
        "WHERE its.obstacle IS NULL",
        "WHERE TRUE",
        AUTHORISE + "test_a_pause_that_begins_while_the_body_is_sent_gets_no_dot",
    ),
    Guard(
        "an entry that was made since the claim gets no dot",
        "ledger/authorise",
        "\nWHERE send.id IN (SELECT entry.id FROM entry)\nRETURNING",
        "\nRETURNING",
        AUTHORISE + "test_an_entry_that_was_made_meanwhile_gets_no_dot",
    ),
    Guard(
        "a dot of other bytes than a first copy had is not authorised",
        "ledger/authorise",
        "existing.bytes_sha256 = promise.bytes_sha256",
        "TRUE",
        AUTHORISE + "test_a_copy_of_other_bytes_gets_no_dot",
    ),
    Guard(
        "a dot is authorised once",
        "functions/snooze_send_is_open",
        "NOT IN ('sending', 'sent', 'uncertain')",
        "NOT IN ('sent', 'uncertain')",
        AUTHORISE + "test_no_dot_is_authorised_twice",
    ),
    Guard(
        "no dot that was not authorised",
        "snoozer/delivery/pipeline.py",
        "return refused.get(send.snooze_id, denial)",
        "return Permission(due=0, read_in=0, since=boot_time())",
        "tests/process/test_worker_dies.py::test_a_cancellation_while_the_body_is_handed_over_wins",
    ),
    Guard(
        "what was sent is not sent again",
        "functions/snooze_send_is_open",
        "NOT IN ('sending', 'sent', 'uncertain')",
        "NOT IN ('sending', 'uncertain')",
        LEDGER + "test_what_was_sent_is_never_sent_again",
    ),
    Guard(
        "an uncertain send waits out its hold",
        "functions/snooze_send_is_open",
        "\n            AND send.uncertain_at <= CURRENT_TIMESTAMP - hold",
        "",
        LEDGER + "test_an_uncertain_send_waits_out_its_hold_and_is_resent_twice_at_most",
    ),
    Guard(
        "a mailbox is looked into twice",
        "functions/snooze_send_is_open",
        "send.looks >= lookups\n",
        "TRUE\n",
        LEDGER + "test_a_reminder_is_missed_twice_before_it_is_sent_again",
    ),
    Guard(
        "a reminder that is made again has its first date",
        "ledger/list_sendable",
        "LEAST(GREATEST(promise.promised, promise.created_at), '9999-01-01 00:00+00')",
        "promise.claimed_at",
        LEDGER + "test_a_reminder_whose_entry_was_lost_is_made_again_of_the_same_bytes",
    ),
    Guard(
        "a second copy is as late as the first one says",
        "ledger/list_sendable",
        "            WHEN entry.bytes_sha256 IS NOT NULL THEN entry.late_by\n",
        "",
        LEDGER + "test_a_late_reminder_says_at_its_send_how_late_it_is_and_its_second_copy_says_the_same",
    ),
    Guard(
        "the ledger has what a mail was composed of",
        "ledger/authorise",
        "    promise.note,",
        "    (promise.whole).note,",
        AUTHORISE + "test_a_note_that_a_program_writes_meanwhile_changes_no_copy",
    ),
)
