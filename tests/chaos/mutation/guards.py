"""The guards of the protocol: where each stands, what is left when it is gone, and the test that then fails."""

from dataclasses import dataclass

QUEUE = "tests/db/test_queue.py::"
CLAIMS = "tests/db/test_queue_claims.py::"
PEOPLE = "tests/db/test_queue_people.py::"
LEDGER = "tests/db/test_ledger.py::"
FACTS = "tests/db/test_ledger_facts.py::"
SQL = "snoozer/db/sql/"
LETTER = "snoozer/mime/mime_writer.py"


@dataclass(frozen=True)
class Guard:
    """`old` stands once in `file`; with `new` in its place, `test` must turn red."""

    name: str
    file: str
    old: str
    new: str
    test: str


LATE = QUEUE + "test_a_late_worker_changes_nothing"
TOKEN = "\n  AND claim_token = :claim_token"

GUARDS = (
    Guard(
        "finalize shows the token",
        SQL + "queue/finalize.sql",
        "\n    WHERE snooze.claim_token = requested.claim_token",
        "",
        LATE,
    ),
    Guard("release shows the token", SQL + "queue/release.sql", TOKEN, "", LATE),
    Guard(
        "extend shows the token",
        SQL + "queue/extend.sql",
        "\n    WHERE snooze.claim_token = requested.claim_token",
        "",
        LATE,
    ),
    Guard(
        "unclaim shows the token",
        SQL + "queue/unclaim.sql",
        "\n    WHERE snooze.claim_token = requested.claim_token",
        "",
        LATE,
    ),
    Guard(
        "schedule_next shows the token",
        SQL + "queue/schedule_next.sql",
        TOKEN,
        "",
        "tests/db/test_scheduling.py::test_a_recurring_row_keeps_its_id_and_gets_a_new_promise",
    ),
    Guard(
        "skip_occurrence checks its promise",
        SQL + "queue/skip_occurrence.sql",
        "\n  AND COALESCE(scheduled_for, remind_at) = :scheduled_for",
        "",
        PEOPLE + "test_what_repeats_goes_on_once_from_each_promise",
    ),
    Guard(
        "a bad row is looked for",
        "snoozer/delivery/refused_rows.py",
        "if not is_row_error(error):",
        "if True:",
        "tests/db/test_claiming.py::test_a_row_too_long_for_the_ledger_delays_no_other",
    ),
    Guard(
        "the claim is materialized",
        SQL + "queue/claim.sql",
        "AS MATERIALIZED",
        "AS",
        "tests/unit/test_house.py::test_what_locks_a_limited_number_of_rows_is_materialized",
    ),
    Guard(
        "the claim waits for no lock",
        SQL + "queue/claim.sql",
        " SKIP LOCKED",
        "",
        CLAIMS + "test_a_claim_waits_for_no_lock",
    ),
    Guard(
        "the claim takes no key lock",
        SQL + "queue/claim.sql",
        "FOR NO KEY UPDATE",
        "FOR UPDATE",
        LEDGER + "test_an_open_ledger_insert_does_not_hide_its_snooze_from_recovery",
    ),
    Guard(
        "spent rows are not claimed",
        SQL + "queue/claim.sql",
        "\n      AND attempts < max_attempts",
        "",
        CLAIMS + "test_the_backlog_is_exactly_what_a_claim_would_take",
    ),
    Guard(
        "rows that lost workers are claimed apart",
        SQL + "queue/claim.sql",
        "\n      AND LEAST(crash_count, 2) = :crashes",
        "",
        QUEUE + "test_a_row_that_kills_its_workers_is_delivered_apart_and_retired",
    ),
    Guard(
        "crashes are counted",
        SQL + "queue/recover.sql",
        "LEAST(snooze.crash_count, 1000000) + 1",
        "snooze.crash_count",
        QUEUE + "test_a_row_that_kills_its_workers_is_delivered_apart_and_retired",
    ),
    Guard(
        "one of a key at a time",
        SQL + "queue/claim.sql",
        "AND (other.remind_at, other.id) < (waiting.remind_at, waiting.id)",
        "AND FALSE",
        "tests/db/test_scheduling.py::test_of_one_key_only_one_is_in_flight",
    ),
    Guard(
        "a key in flight has no second row in flight",
        SQL + "queue/claim.sql",
        "\n                AND busy.claimed_at IS NOT NULL",
        "\n                AND FALSE",
        "tests/db/test_scheduling.py::test_of_one_key_only_one_is_in_flight",
    ),
    Guard(
        "a claim does not look behind a key",
        SQL + "queue/claim.sql",
        "\n      AND NOT behind_key",
        "",
        "tests/db/test_keys.py::test_a_claim_beside_thousands_of_rows_of_one_key_reads_a_few_of_them",
    ),
    Guard(
        "rows far behind their key are set behind",
        SQL + "queue/claim.sql",
        "behind_key = NOT due.is_first",
        "behind_key = snooze.behind_key",
        "tests/db/test_keys.py::test_rows_that_were_inserted_last_first_are_set_behind_by_the_claims_that_meet_them",
    ),
    Guard(
        "a claim brings the next row of its key",
        "snoozer/db/queue.py",
        "        advance_keys(connection, keys=keys, known_schema=known_schema)\n",
        "        pass\n",
        "tests/db/test_keys.py::test_rows_of_a_key_are_delivered_in_order_however_they_were_inserted",
    ),
    Guard(
        "a sweep finds rows behind what is gone",
        "snoozer/delivery/key_sweep.py",
        "                queue.advance_keys(connection, keys=keys, known_schema=self._known_schema)\n",
        "                pass\n",
        "tests/db/test_keys.py::test_rows_behind_cancelled_ones_are_reached_by_a_sweep",
    ),
    Guard(
        "rows that lost a worker are few at a time",
        "snoozer/delivery/claiming.py",
        "left = min(left, crashed_room - ",
        "left = left or min(left, crashed_room - ",
        "tests/db/test_scheduling.py::test_rows_that_lost_a_worker_are_few_in_a_batch_and_those_that_lost_two_in_none",
    ),
    Guard(
        "a claim that timed out is narrower the next time",
        "snoozer/delivery/claiming.py",
        "self._cursors[lane].narrow_until = self._clock() + NARROW_SECONDS",
        "pass",
        "tests/db/test_claiming.py::test_a_claim_that_exceeds_the_statement_timeout_is_tried_again_with_fewer_rows",
    ),
    Guard(
        "the mark shows the token",
        SQL + "ledger/mark.sql",
        "snooze.claim_token = requested.claim_token\n      AND ",
        "",
        LEDGER + "test_a_worker_whose_claim_was_taken_authorises_nothing",
    ),
    Guard(
        "the mark looks at the lease",
        SQL + "ledger/mark.sql",
        "\n      AND snooze.lease_expires_at > clock_timestamp()",
        "",
        LEDGER + "test_a_worker_whose_lease_ran_out_authorises_nothing",
    ),
    Guard(
        "the mark waits for a cancellation",
        SQL + "ledger/mark.sql",
        "\n    FOR NO KEY UPDATE",
        "",
        LEDGER + "test_a_cancellation_under_way_is_waited_for",
    ),
    Guard(
        "a mark is set once",
        SQL + "ledger/mark.sql",
        "\n  AND send.state = 'reserved'",
        "",
        LEDGER + "test_no_dot_without_the_mark_and_no_mark_twice",
    ),
    Guard(
        "no dot without the mark",
        "snoozer/delivery/deliver.py",
        "marked = await self._marks((send, digest))",
        "marked = await self._marks((send, digest)) or True",
        "tests/process/test_worker_dies.py::test_a_cancellation_while_the_body_is_handed_over_wins",
    ),
    Guard(
        "the local fence",
        "snoozer/delivery/deliver.py",
        "fenced = self.lease_is_safe(send.snooze_id)",
        "fenced = True",
        "tests/process/test_worker_dies.py::test_a_zombie_that_slept_past_its_lease_sends_nothing[marked]",
    ),
    Guard(
        "the local fence looks at the heartbeat",
        "snoozer/delivery/heartbeat.py",
        "boot_time() < self._last_success + self._healthy_for",
        "True",
        "tests/db/test_heartbeat.py::test_a_worker_without_a_recent_heartbeat_authorises_no_dot",
    ),
    Guard(
        "a lost lease is noticed",
        "snoozer/delivery/heartbeat.py",
        "claim.lease_ends = 0.0",
        "pass",
        "tests/db/test_heartbeat.py::test_a_claim_that_was_taken_away_is_noticed_at_the_next_heartbeat",
    ),
    Guard(
        "a heartbeat waits for no lock",
        SQL + "queue/extend.sql",
        " SKIP LOCKED",
        "",
        "tests/db/test_heartbeat.py::test_a_locked_row_does_not_delay_the_heartbeat",
    ),
    Guard(
        "a fact needs no claim",
        SQL + "ledger/record.sql",
        "\n      AND entry.state <> 'sent'",
        "\n      AND entry.state = 'sending' AND entry.holder = entry.claim_token",
        FACTS + "test_a_late_250_is_recorded_without_a_claim",
    ),
    Guard(
        "sent is absorbing",
        "migrations/versions/0002_reminder_sends.py",
        "    op.execute(ABSORBING)\n",
        "",
        LEDGER + "test_sent_never_leaves",
    ),
    Guard(
        "what was sent is not reserved",
        SQL + "ledger/reserve.sql",
        "WHERE send.state IN ('reserved', 'failed')",
        "WHERE send.state IN ('reserved', 'failed', 'sent')",
        LEDGER + "test_what_was_sent_is_never_reserved_again",
    ),
    Guard(
        "an uncertain send waits out its hold",
        SQL + "ledger/reserve.sql",
        "\n       AND send.uncertain_at <= CURRENT_TIMESTAMP - :hold",
        "",
        LEDGER + "test_an_uncertain_send_waits_out_its_hold_and_is_resent_twice_at_most",
    ),
    Guard(
        "a mailbox is looked into twice",
        SQL + "ledger/reserve.sql",
        "\n       AND send.looks >= :lookups",
        "",
        LEDGER + "test_a_reminder_is_missed_twice_before_it_is_sent_again",
    ),
    Guard(
        "recovery makes a marked send uncertain",
        SQL + "queue/recover.sql",
        "SET state = 'uncertain',\n        uncertain_at = clock_timestamp()",
        "SET state = 'reserved'",
        LEDGER + "test_a_worker_lost_after_the_mark_leaves_an_uncertain_send",
    ),
    Guard(
        "recovery locks a row before it reads the ledger",
        SQL + "queue/lock_lapsed.sql",
        "    FOR NO KEY UPDATE OF snooze SKIP LOCKED\n",
        "",
        "tests/db/test_recovery.py::test_no_mark_is_made_between_the_lock_and_the_recovery",
    ),
    Guard(
        "a restore locks a row before it reads the ledger",
        SQL + "queue/lock_due_before.sql",
        "    FOR NO KEY UPDATE\n",
        "",
        "tests/db/test_recovery.py::test_a_mark_that_was_being_written_at_a_restore_becomes_uncertain",
    ),
    Guard(
        "the dead stay dead",
        SQL + "workers/heartbeat.sql",
        "\n      AND state <> 'dead'",
        "",
        "tests/db/test_housekeeping.py::test_a_dead_worker_stays_dead",
    ),
    Guard(
        "only the probe closes the breaker",
        SQL + "breaker/succeed.sql",
        "\n  AND (state = 'closed' OR CAST(:probe_token AS uuid) IS NOT NULL)",
        "",
        "tests/db/test_breaker.py::test_only_a_probe_closes_it",
    ),
    Guard(
        "one probe after the cooldown",
        SQL + "breaker/permit.sql",
        "(state = 'half-open' AND probe_at <= clock_timestamp() - :cooldown)",
        "state = 'half-open'",
        "tests/db/test_breaker.py::test_after_the_cooldown_one_worker_gets_the_probe",
    ),
    Guard(
        "a server that refuses everybody opens the circuit",
        "snoozer/smtp/connection_pool.py",
        "self._refusals.add(recipient, is_about_address=error.is_about_address, now=time.monotonic())",
        "False",
        "tests/mail/test_refusals.py::test_after_some_recipients_in_a_row_the_server_is_at_fault",
    ),
    Guard(
        "a probe that is refused closes no breaker of a server that refuses everybody",
        "snoozer/smtp/connection_pool.py",
        "elif not self._refuses_everybody:",
        "else:",
        "tests/mail/test_refusals.py::test_while_the_server_refuses_everybody_no_recipient_of_a_probe_is_at_fault",
    ),
    Guard(
        "nothing is claimed on another timeline",
        "snoozer/delivery/breaker_client.py",
        "            return []\n",
        "",
        "tests/db/test_timeline.py::test_nothing_is_claimed_until_the_change_is_accepted",
    ),
    Guard(
        "an unknown part of the timeline is no change",
        SQL + "timeline/change.sql",
        "WHERE present.system_identifier <> accepted",
        "WHERE present.system_identifier IS DISTINCT FROM accepted",
        "tests/db/test_timeline.py::test_what_a_role_may_not_ask_is_no_change_and_the_rest_is_compared",
    ),
    Guard(
        "the limits count attempts under way",
        "snoozer/smtp/connection_pool.py",
        "self._failures + self._trying < self._limit",
        "True",
        "tests/db/test_breaker.py::test_no_more_connections_are_opened_than_the_threshold_however_many_want_one",
    ),
    Guard(
        "what was written in the header is read back",
        LETTER,
        '_matches(_fields_of(head + b"\\r\\n"), fields)',
        "True",
        "tests/mail/test_mime_writer.py::test_the_guard_sees_every_kind_of_difference",
    ),
    Guard(
        "a header is read without the parser only where it leaves no choice",
        LETTER,
        "if _PLAIN_HEAD.fullmatch(head):",
        "if True:",
        "tests/mail/test_mime_writer.py::test_the_guard_finds_what_the_librarys_parser_finds",
    ),
    Guard(
        "a field is a line as it is only where it is plain",
        LETTER,
        "_PLAIN_FIELD.fullmatch(line)",
        "True",
        "tests/mail/test_mime_writer.py::test_fields_side_by_side_are_read_as_they_were_meant",
    ),
    Guard(
        "what looks like an encoded word is no plain field",
        LETTER,
        ' and "=?" not in value',
        "",
        "tests/mail/test_mime_writer.py::test_fields_side_by_side_are_read_as_they_were_meant",
    ),
    Guard(
        "a field that was folded is read back",
        LETTER,
        'if parses_as(f"{folded}\\r\\n\\r\\n".encode("ascii"), [(name, meant)], b""):',
        "if True:",
        "tests/mail/test_mime_writer.py::test_what_reads_back_differently_is_replaced_by_a_plain_subject",
    ),
    Guard(
        "a piece of a body leaves room for the soft line break behind it",
        LETTER,
        'quoted_printable(text + "x")[:-1]',
        "quoted_printable(text)",
        "tests/mail/test_mime_writer.py::test_pieces_between_soft_line_breaks_are_read_as_they_were",
    ),
    Guard(
        "a reminder that is made again has its first date",
        SQL + "ledger/reserve.sql",
        "LEAST(GREATEST(send.scheduled_for, snooze.created_at), '9999-01-01 00:00+00')",
        "send.reserved_at",
        LEDGER + "test_a_reminder_whose_entry_was_lost_is_made_again_of_the_same_bytes",
    ),
    Guard(
        "a server that hung up before the dot gets none",
        "snoozer/smtp/transport.py",
        "while not self._read and self._ended is None and self._has_unread():",
        "while False:",
        "tests/mail/test_smtp.py::test_a_connection_that_was_reset_while_we_asked_the_database_gets_no_dot[plain]",
    ),
    Guard(
        "a body that lies in the buffers of TLS is not handed over",
        "snoozer/smtp/transport.py",
        "while self._tcp.get_write_buffer_size():",
        "while False:",
        "tests/mail/test_smtp.py::test_a_body_that_lies_in_the_buffers_of_tls_is_not_handed_over",
    ),
    *(
        Guard(
            f"{verb} waits for no lock for long",
            f"{SQL}{room}/{verb}.sql",
            "set_config('lock_timeout', '1s', TRUE)",
            "set_config('lock_timeout', '0', TRUE)",
            f"tests/db/test_lock_timeouts.py::test_a_batch_does_not_wait_for_a_forgotten_lock[{verb}]",
        )
        for room, verb in (("ledger", "mark"), ("ledger", "record"), ("queue", "finalize"))
    ),
    Guard(
        "an outage is not held against a worker",
        SQL + "workers/mark_dead.sql",
        "GREATEST(heartbeat_at, snooze_server_met())",
        "heartbeat_at",
        "tests/db/test_housekeeping.py::test_a_worker_is_not_declared_dead_after_an_outage_of_the_database",
    ),
    Guard(
        "after an outage leases count from when the server was met",
        SQL + "queue/lock_lapsed.sql",
        "CASE WHEN workers.id IS NOT NULL THEN snooze_server_met() + :lease END",
        "snooze.lease_expires_at",
        "tests/db/test_housekeeping.py::test_a_worker_has_one_lease_to_extend_its_claims_after_an_outage",
    ),
)
