"""The guards of mails that are prepared ahead."""

from tests.chaos.mutation.guard import Guard

AHEAD = "snoozer/delivery/ahead.py"
TESTS = "tests/db/test_ahead.py::"

AHEAD_GUARDS = (
    Guard(
        "a row that was read ahead is claimed as it was read",
        "queue/claim_read",
        "CAST(snooze.xmin AS text) = given.version\n      AND ",
        "",
        TESTS + "test_a_row_that_has_changed_since_it_was_read_gets_no_dot[another note]",
    ),
    Guard(
        "a claim of what was read ahead waits for no lock",
        "queue/claim_read",
        "OF snooze SKIP LOCKED",
        "OF snooze",
        TESTS + "test_a_row_that_another_transaction_has_locked_is_not_waited_for",
    ),
    Guard(
        "a row with an obstacle is given back in the transaction that claimed it",
        "snoozer/delivery/pipeline.py",
        "        if claims:\n            queue.unclaim",
        "        if False:\n            queue.unclaim",
        TESTS + "test_an_obstacle_that_came_since_leaves_the_row_unclaimed",
    ),
    Guard(
        "a dot that was authorised ahead waits for its time",
        AHEAD,
        "asyncio.get_running_loop().call_at(due - TIMER_SECONDS, self._send, job, due)",
        "self._send(job, 0.0)",
        TESTS + "test_the_dot_leaves_at_its_time_and_is_authorised_before",
    ),
    Guard(
        "a clock that was set back makes mails late",
        AHEAD,
        "permission.due if was_set_back else ",
        "",
        TESTS + "test_the_time_of_a_dot_is_never_early_and_follows_a_clock_that_is_set_back",
    ),
    Guard(
        "half of the sessions are left to what is overdue",
        "snoozer/delivery/pipeline.py",
        "self._pool.capacity // 2",
        "self._pool.capacity",
        TESTS + "test_half_of_the_sessions_are_left_to_what_is_overdue",
    ),
    Guard(
        "a stop drops what has no authorisation",
        "snoozer/delivery/pipeline.py",
        "    def _cancel_pending(self) -> None:\n        self._ahead.drop_all()\n",
        "    def _cancel_pending(self) -> None:\n",
        TESTS + "test_a_stop_drops_what_has_no_authorisation",
    ),
    Guard(
        "a session that ended while a mail was held costs no wait",
        "snoozer/delivery/deliver.py",
        "delay = None if self.delivery.version is None else timedelta(0)",
        "delay = None",
        TESTS + "test_a_server_that_hangs_up_while_a_mail_is_held_delays_it_little",
    ),
    Guard(
        "people whose day has a shape are not read ahead",
        "peek/upcoming",
        "WHERE account.email = lower((near.snooze).user_email)",
        "WHERE FALSE",
        TESTS + "test_people_with_a_day_shape_are_not_read_ahead",
    ),
)
