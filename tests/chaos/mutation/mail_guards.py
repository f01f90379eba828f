"""The guards of what leaves for a mail server."""

from tests.chaos.mutation.guard import Guard

SESSION = "snoozer/mail/smtp/session.py"
CONNECTIONS = "snoozer/mail/smtp/connection_pool.py"
SMTP = "tests/mail/test_smtp.py::"
PIPELINED = "tests/mail/test_smtp_pipelining.py::"
POOL = "tests/mail/test_connection_pool.py::"
SLOW = "tests/mail/test_slow_sessions.py::"

DOOR = "snoozer/mailboxes/inbound/lmtp_server.py"
LETTER = "snoozer/mail/mime_writer.py"

MAIL_GUARDS = (
    Guard(
        "the limits count attempts under way",
        "snoozer/mail/smtp/server_limits.py",
        "self._failures + connecting < self._limit",
        "True",
        "tests/db/test_breaker.py::test_no_more_connections_are_opened_than_the_threshold_however_many_want_one",
    ),
    Guard(
        "a server that hung up before the dot gets none",
        SESSION,
        "elif self._transport.has_unread:",
        "elif False:",
        SMTP + "test_a_connection_that_was_reset_while_we_asked_the_database_gets_no_dot[plain]",
    ),
    Guard(
        "a server that replied before the dot gets none",
        SESSION,
        "if self._transport.has_data:",
        "if False:",
        SMTP + "test_a_server_that_replied_while_we_asked_the_database_gets_no_dot",
    ),
    Guard(
        "a body that lies in the buffers of TLS is not handed over",
        "snoozer/mail/smtp/transport.py",
        "if self._full or self._tcp.get_write_buffer_size():",
        "if self._full:",
        SMTP + "test_a_body_that_lies_in_our_buffers_is_not_handed_over[tls]",
    ),
    Guard(
        "silence after a dot is no refusal",
        SESSION,
        "dotted.on_failed(self, NoReplyAfterData(",
        "dotted.on_failed(self, ServerUnavailable(",
        PIPELINED
        + "test_a_connection_that_ends_after_a_dot_leaves_the_mail_that_follows_unsent[<eof>-NoReplyAfterData]",
    ),
    Guard(
        "a server that waits for the body of a refused mail gets no dot",
        SESSION,
        '(step.phase == "data" and reply.code < 400)',
        "False",
        PIPELINED + "test_a_server_that_waits_for_the_body_of_a_refused_mail_gets_no_dot",
    ),
    Guard(
        "the deadline of a dot is its own",
        SESSION,
        "            self._set_deadline(deadline)\n            mail.on_dot()",
        "            mail.on_dot()",
        PIPELINED + "test_the_deadline_of_a_dot_is_not_shortened_by_the_mail_that_follows",
    ),
    Guard(
        "the reply to a dot is waited for",
        SESSION,
        "if self._dotted is None:\n            self._end()",
        "self._end()",
        PIPELINED + "test_a_mail_that_is_given_up_behind_a_dot_waits_for_the_reply_to_the_dot",
    ),
    Guard(
        "no unchecked address is part of a command",
        SESSION,
        "plain != rcpt_to and headers.address(rcpt_to) != rcpt_to",
        "plain is None and False",
        SMTP + "test_no_address_can_smuggle_a_command",
    ),
    Guard(
        "a session that the server closed carries nothing more",
        SESSION,
        "self._current is None and self._transport.has_data",
        "False",
        SMTP + "test_a_session_whose_server_hangs_up_while_it_is_idle_carries_nothing_more",
    ),
    Guard(
        "a session whose mail was refused at once is free",
        SESSION,
        "        else:\n            self.on_free(self)\n",
        "",
        POOL + "test_two_thousand_bad_addresses_in_a_row_are_refused_and_the_next_mail_is_sent",
    ),
    Guard(
        "a mail follows only where the server takes one more",
        CONNECTIONS,
        "session.carried + 1 >= self.limits.messages",
        "False",
        POOL + "test_a_server_that_takes_two_mails_on_a_connection_gets_two[in one piece]",
    ),
    Guard(
        "a fresh connection that fails is not tried again for the same mail",
        CONNECTIONS,
        "return session.carried > 0",
        "return True",
        POOL + "test_a_fresh_connection_that_fails_is_not_tried_again_for_the_same_mail",
    ),
    Guard(
        "a rate that allows no mail does not keep the loop turning",
        CONNECTIONS,
        "                if not self._begin_next(session):\n                    break\n",
        "                self._begin_next(session)\n",
        POOL + "test_a_rate_that_allows_no_mail_now_stops_nothing_else",
    ),
    Guard(
        "a rate that allows no mail opens no connections",
        CONNECTIONS,
        "not (is_full or is_enough or self._idle)",
        "not (is_full or is_enough)",
        POOL + "test_a_rate_that_allows_no_mail_now_stops_nothing_else",
    ),
    Guard(
        "a lowered limit of connections is kept",
        CONNECTIONS,
        "self.limits.messages or self._is_over_limit):",
        "self.limits.messages):",
        POOL + "test_beyond_a_limit_that_was_lowered_sessions_are_quit",
    ),
    Guard(
        "slow replies make room for few",
        CONNECTIONS,
        "for since in waits), MAX_SLOW)",
        "for since in waits), 1_000)",
        SLOW + "test_sessions_that_wait_for_a_slow_reply_leave_room_for_others_up_to_a_number",
    ),
    Guard(
        "no mail waits behind a slow reply to another one",
        CONNECTIONS,
        "if one.has_follower and",
        "if False and",
        SLOW + "test_a_mail_behind_a_slow_reply_goes_over_another_session",
    ),
    Guard(
        "a session is slow while the others carry two mails each",
        CONNECTIONS,
        "slow_since = max(slow_since, self._recent[0])",
        "pass",
        SLOW + "test_a_session_is_slow_once_the_others_carried_two_mails_each",
    ),
    Guard(
        "a slow session is found while the others pipeline",
        CONNECTIONS,
        "        asyncio.get_running_loop().call_soon(self.wake)\n        return self._next_mail(overdue=True)",
        "        return self._next_mail(overdue=True)",
        SLOW + "test_a_slow_session_is_found_while_the_others_are_never_free",
    ),
    Guard(
        "where enough are busy no mail follows a dot",
        CONNECTIONS,
        " or self._missing < 0",
        "",
        SLOW + "test_sessions_that_were_slow_begin_no_mail_with_a_dot_while_there_are_enough",
    ),
    Guard(
        "our own database is no slow server",
        SESSION,
        'self._wrote_at if self._awaited or self._flushing else float("inf")',
        "self._wrote_at",
        SLOW + "test_sessions_that_wait_for_our_database_are_not_slow",
    ),
    Guard(
        "a batch that was cancelled ends",
        "snoozer/delivery/settling.py",
        "except BaseException as error:",
        "except Exception as error:",
        "tests/unit/test_batching.py::test_no_request_waits_for_ever_for_a_batch_that_was_cancelled",
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
        "a message that other servers would end earlier is refused",
        DOOR,
        "if not refusal and _FALSE_ENDS.search(",
        "if False and _FALSE_ENDS.search(",
        "tests/mail/test_lmtp_server_bytes.py::test_no_mail_can_be_smuggled_inside_another",
    ),
    Guard(
        "a command with a bare line end is refused",
        DOOR,
        'if separator == b"\\n" and (not',
        "if False and (not",
        "tests/mail/test_lmtp_server.py::test_a_command_with_a_bare_line_end_is_refused",
    ),
    Guard(
        "unknown recipients count, too",
        DOOR,
        "server.recipients_tried > MAX_RECIPIENTS",
        "len(envelope.rcpt_tos) >= MAX_RECIPIENTS",
        "tests/mail/test_lmtp_server.py::test_a_message_has_at_most_a_hundred_recipients_known_or_not",
    ),
    Guard(
        "a session without a message ends",
        DOOR,
        "        self._await_message()\n        super()",
        "        super()",
        "tests/mail/test_lmtp_server.py::test_commands_without_a_message_end_the_session",
    ),
    Guard(
        "mail of machines acts at no address",
        "snoozer/mailboxes/inbound/doors.py",
        "if head.automatic or (",
        "if (",
        "tests/db/test_mail_addresses.py::test_machines_do_nothing",
    ),
    Guard(
        "an answer to an answer acts at no address with a time",
        "snoozer/mailboxes/inbound/doors.py",
        "any(map(notices.is_answer_id, head.answers))",
        "False",
        "tests/db/test_mail_addresses.py::test_the_answer_to_an_answer_of_any_snoozer_does_nothing",
    ),
    Guard(
        "mails to one reminder that are not understood are answered once an hour",
        "mail_acts/answer",
        "                :understood\n                OR count(*)",
        "                TRUE\n                OR count(*)",
        "tests/db/test_mail_answers.py::test_mails_to_one_reminder_that_are_not_understood_are_answered_once_an_hour",
    ),
    Guard(
        "a reminder that came back is evidence",
        "snoozer/mailboxes/inbox.py",
        "    mailbox_store.store(connection, user_email=user_email, envelope=envelope, original=original, "
        "place=EVIDENCE)\n",
        "",
        "tests/db/test_threads.py::test_a_reminder_that_came_back_is_known_to_have_arrived",
    ),
    Guard(
        "an original that arrived late changes no bytes",
        "ledger/list_sendable",
        "+ CASE WHEN original.is_kept THEN INTERVAL '0'",
        "+ CASE WHEN original.is_kept THEN INTERVAL '1 year'",
        "tests/db/test_threads.py::test_an_original_that_arrives_after_its_snooze_changes_no_bytes",
    ),
)
