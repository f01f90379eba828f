"""A mail server that is down is left alone by all workers together, and one probe decides when to go on."""

from datetime import timedelta
from threading import Barrier, Thread
from uuid import uuid4

from sqlalchemy import Engine, text

from snoozer.delivery.breaker_client import BreakerClient
from snoozer.mail.smtp.server_limits import ServerLimits
from snoozer.queue import breaker
from snoozer.queue.breaker import Permit
from tests.statements import statements

SERVER = "mail.example:25"
NOW, LATER = timedelta(seconds=-1), timedelta(hours=1)


def permit(engine: Engine, cooldown: timedelta = LATER) -> Permit:
    with engine.begin() as connection:
        return breaker.permit(connection, server=SERVER, cooldown=cooldown)


def fail(engine: Engine, failures: int = 1, asked: Permit | None = None) -> str | None:
    token = asked.probe_token if asked else None
    with engine.begin() as connection:
        return breaker.fail(
            connection, server=SERVER, failures=failures, threshold=5, reason="refused", probe_token=token
        )


def succeed(engine: Engine, asked: Permit) -> bool:
    with engine.begin() as connection:
        return breaker.succeed(connection, server=SERVER, probe_token=asked.probe_token)


def opened(engine: Engine) -> None:
    permit(engine)
    assert fail(engine, failures=5) == "open"


def test_failures_of_all_workers_add_up_and_open_it(engine: Engine) -> None:
    assert permit(engine).kind == "closed"
    assert [fail(engine, failures=2), fail(engine, failures=2), fail(engine)] == ["closed", "closed", "open"]
    assert permit(engine).kind == "open"


def test_a_success_in_between_ends_the_row_of_failures(engine: Engine) -> None:
    permit(engine)
    fail(engine, failures=4)
    assert succeed(engine, permit(engine)) is True
    assert fail(engine) == "closed"


def test_after_the_cooldown_one_worker_gets_the_probe(engine: Engine) -> None:
    opened(engine)
    assert permit(engine).kind == "open"
    kinds = [permit(engine, cooldown=NOW if number == 0 else LATER).kind for number in range(5)]
    assert kinds == ["probe", "open", "open", "open", "open"]


def test_workers_that_ask_in_the_same_moment_get_one_probe(engine: Engine) -> None:
    opened(engine)
    cooldown, start, kinds = timedelta(minutes=1), Barrier(8), []
    with engine.begin() as connection:
        connection.execute(text("UPDATE circuit_breakers SET opened_at = now() - INTERVAL '1 hour'"))

    def ask() -> None:
        start.wait()
        kinds.append(permit(engine, cooldown=cooldown).kind)

    askers = [Thread(target=ask) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert sorted(kinds) == ["open"] * 7 + ["probe"]


def test_a_probe_that_succeeds_closes_it(engine: Engine) -> None:
    opened(engine)
    probe = permit(engine, cooldown=NOW)
    assert succeed(engine, probe) is True
    assert permit(engine).kind == "closed"


def test_a_probe_that_fails_opens_it_again(engine: Engine) -> None:
    opened(engine)
    assert fail(engine, asked=permit(engine, cooldown=NOW)) == "open"
    assert permit(engine).kind == "open"


def test_only_a_probe_closes_it(engine: Engine) -> None:
    opened(engine)
    permit(engine, cooldown=NOW)
    assert succeed(engine, Permit(kind="closed", probe_token=None, failures=0)) is False
    assert permit(engine).kind == "open"


def test_a_probe_without_a_report_is_given_to_another(engine: Engine) -> None:
    opened(engine)
    first, second = permit(engine, cooldown=NOW), permit(engine, cooldown=NOW)
    assert (first.kind, second.kind) == ("probe", "probe")
    assert first.probe_token != second.probe_token


def test_a_probe_that_took_longer_than_the_cooldown_closes_it_all_the_same(engine: Engine) -> None:
    """Each worker's success was worth nothing, because the next worker had been given a probe meanwhile."""
    opened(engine)
    slow, _ = permit(engine, cooldown=NOW), permit(engine, cooldown=NOW)
    assert succeed(engine, slow) is True
    assert permit(engine).kind == "closed"


def test_no_more_connections_are_opened_than_the_threshold_however_many_want_one() -> None:
    limits, connecting = ServerLimits(threshold=5), 0
    while limits.may_connect(connecting=connecting):
        connecting += 1
    assert connecting == 5
    for left in reversed(range(5)):
        limits.record_failure("refused")
        assert not limits.may_connect(connecting=left)
    assert limits.is_open
    assert limits.take_report().failures == 5
    assert limits.take_report().failures == 0


def test_a_probe_allows_one_attempt() -> None:
    limits = ServerLimits(threshold=5)
    limits.reset(max_failures=1)
    assert limits.may_connect(connecting=0)
    assert not limits.may_connect(connecting=1)
    limits.record_failure("refused")
    assert limits.is_open


def test_a_reply_is_no_failure_and_ends_the_failures_in_a_row() -> None:
    limits = ServerLimits(threshold=2)
    limits.record_failure("refused")
    limits.record_success()
    report = limits.take_report()
    assert (report.failures, report.succeeded) == (0, True)
    limits.record_failure("refused")
    assert not limits.is_open


def test_a_late_failure_of_another_worker_leaves_the_probe_alone(engine: Engine) -> None:
    opened(engine)
    probe = permit(engine, cooldown=NOW)
    fail(engine, failures=5)
    assert permit(engine).kind == "open"
    assert succeed(engine, probe) is True


def test_a_probe_that_found_nothing_to_send_goes_to_the_next(engine: Engine) -> None:
    opened(engine)
    probe = permit(engine, cooldown=NOW)
    with engine.begin() as connection:
        breaker.return_probe(connection, server=SERVER, probe_token=probe.probe_token)
    assert permit(engine, cooldown=timedelta(milliseconds=1)).kind == "probe"


def state(engine: Engine) -> object:
    with engine.connect() as connection:
        found = text("SELECT state, probe_token FROM circuit_breakers WHERE server = :server")
        return connection.execute(found, {"server": SERVER}).one()


def test_one_servers_troubles_are_not_anothers(engine: Engine) -> None:
    opened(engine)
    probe, other = permit(engine, cooldown=NOW), "other.example:25"
    before = state(engine)
    with engine.begin() as connection:
        kinds = [breaker.permit(connection, server=other, cooldown=NOW).kind for _ in range(2)]
        breaker.return_probe(connection, server=other, probe_token=probe.probe_token)
        breaker.return_probe(connection, server=SERVER, probe_token=uuid4())
        breaker.succeed(connection, server=other, probe_token=uuid4())
    assert kinds == ["closed", "closed"]
    assert state(engine) == before


def refuses_everybody(engine: Engine, asked: Permit | None = None, *, failures: int = 5) -> None:
    with engine.begin() as connection:
        breaker.fail(
            connection,
            server=SERVER,
            failures=failures,
            threshold=5,
            reason="it refuses everybody",
            probe_token=asked.probe_token if asked else None,
            refuses_everybody=True,
        )


def test_a_server_that_refuses_everybody_is_searched_for_a_message_that_it_accepts(engine: Engine) -> None:
    """It is up: the messages of some that it refuses must not hold up those it would accept."""
    permit(engine)
    refuses_everybody(engine)
    for _ in range(3):
        probe = permit(engine)
        assert (probe.kind, probe.refuses_everybody) == ("probe", True)
        assert permit(engine).kind == "open"
        refuses_everybody(engine, asked=probe)
    refuses_everybody(engine, asked=permit(engine), failures=480)
    assert permit(engine).kind == "open"
    with engine.begin() as connection:
        connection.execute(text("UPDATE circuit_breakers SET opened_at = opened_at - INTERVAL '7 minutes'"))
    assert permit(engine).kind == "probe"


def test_why_it_opened_is_forgotten_when_it_closes_and_not_before(engine: Engine) -> None:
    permit(engine)
    refuses_everybody(engine)
    fail(engine)
    probe = permit(engine, cooldown=NOW)
    assert probe.refuses_everybody
    assert succeed(engine, probe)
    assert permit(engine).refuses_everybody is False
    assert fail(engine, failures=5) == "open"
    assert permit(engine, cooldown=NOW).refuses_everybody is False


def test_a_closed_permit_is_not_asked_for_again_at_every_claim_until_this_worker_fails(engine: Engine) -> None:
    limits = ServerLimits(threshold=5)
    client = BreakerClient(engine=engine, limits=limits, server=SERVER, threshold=5, cooldown=LATER)
    asked = client.acquire()
    fail(engine, failures=4)
    assert client.acquire() is asked, "the claim itself finds a breaker that another worker opened"
    limits.record_failure("refused")
    client.report(asked)
    assert client.acquire().kind == "open"


def times(engine: Engine) -> tuple[timedelta | None, timedelta | None]:
    """For how long nothing succeeded, and nothing failed."""
    found = text(
        "SELECT clock_timestamp() - last_success_at, clock_timestamp() - last_failure_at FROM circuit_breakers"
    )
    with engine.begin() as connection:
        worked, failed = connection.execute(found).one()
    return worked, failed


def test_it_tells_when_the_server_last_worked_and_last_failed(engine: Engine) -> None:
    permit(engine)
    assert times(engine) == (None, None)
    opened(engine)
    worked, failed = times(engine)
    assert worked is None
    assert failed is not None
    assert failed < timedelta(seconds=10)
    assert succeed(engine, permit(engine, cooldown=NOW)) is True
    worked, still_failed = times(engine)
    assert worked is not None
    assert still_failed is not None
    assert worked < still_failed, "what failed before is still known"


def a_client(engine: Engine) -> tuple[BreakerClient, ServerLimits]:
    limits = ServerLimits(threshold=5)
    return BreakerClient(engine=engine, limits=limits, server=SERVER, threshold=5, cooldown=LATER), limits


def test_a_server_that_works_is_noted_once_in_a_while_and_not_at_every_mail(engine: Engine) -> None:
    client, limits = a_client(engine)
    asked = client.acquire()
    limits.record_success()
    client.report(asked)
    worked, _ = times(engine)
    assert worked is not None
    with statements(engine) as executed:
        for _ in range(100):
            limits.record_success()
            client.report(asked)
    assert executed == []


def test_a_failure_between_two_successes_is_noted_and_does_not_count(engine: Engine) -> None:
    client, limits = a_client(engine)
    asked = client.acquire()
    limits.record_failure("refused")
    limits.record_success()
    client.report(asked)
    worked, failed = times(engine)
    assert worked is not None
    assert failed is not None
    assert worked <= failed
    assert permit(engine).failures == 0


def test_what_worked_before_an_outage_is_noted_with_its_own_time(engine: Engine) -> None:
    permit(engine)
    with engine.begin() as connection:
        assert breaker.note(connection, server=SERVER, succeeded_ago=300, failed_ago=None)
        assert breaker.note(connection, server=SERVER, succeeded_ago=900, failed_ago=1)
    worked, failed = times(engine)
    assert worked is not None
    assert failed is not None
    assert timedelta(seconds=299) < worked < timedelta(seconds=600), "a later time that is known stays"
    assert failed < timedelta(seconds=60)


def test_a_breaker_that_another_worker_has_locked_is_not_waited_for(engine: Engine) -> None:
    permit(engine)
    with engine.begin() as holder, engine.begin() as connection:
        holder.execute(text("SELECT 1 FROM circuit_breakers FOR UPDATE"))
        assert not breaker.note(connection, server=SERVER, succeeded_ago=1, failed_ago=None)


def trip(engine: Engine) -> bool:
    with engine.begin() as connection:
        return breaker.trip(connection, server=SERVER, actor="operator:1", reason="The relay is being moved")


def reset(engine: Engine) -> bool:
    with engine.begin() as connection:
        return breaker.reset(connection, server=SERVER)


def test_one_that_an_operator_tripped_gives_no_probe_until_it_is_reset(engine: Engine) -> None:
    assert not trip(engine), "of a server that is not known"
    permit(engine)
    assert trip(engine)
    assert not trip(engine)
    assert [permit(engine, cooldown=NOW).kind for _ in range(3)] == ["open"] * 3
    assert reset(engine)
    assert not reset(engine)
    assert permit(engine).kind == "closed"


def test_one_that_an_operator_tripped_is_in_use_while_workers_ask_for_it(engine: Engine) -> None:
    """One of a mail server that is not used any more was open for ever."""
    permit(engine)
    assert trip(engine)
    in_use, aged = (
        "SELECT count(*) FROM open_breakers",
        "UPDATE circuit_breakers SET updated_at = now() - INTERVAL '2 h'",
    )
    for asks in (False, True):
        with engine.begin() as connection:
            connection.execute(text(aged))
        if asks:
            assert permit(engine).kind == "open"
        with engine.connect() as connection:
            assert connection.execute(text(in_use)).scalar_one() == asks


def test_a_probe_that_was_under_way_does_not_close_what_an_operator_tripped(engine: Engine) -> None:
    opened(engine)
    probe = permit(engine, cooldown=NOW)
    assert probe.kind == "probe"
    assert trip(engine)
    assert succeed(engine, probe) is False
    assert fail(engine, asked=probe) == "open"
    assert permit(engine, cooldown=NOW).kind == "open"


def test_a_reset_forgets_the_failures_before_it(engine: Engine) -> None:
    opened(engine)
    assert reset(engine)
    assert fail(engine, failures=4) == "closed"
