"""Health, readiness and metrics, above all while the database fails."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from sqlalchemy import Engine, text

from snoozer.db import schema, timeline
from snoozer.db.engine import make_engine
from snoozer.settings import Settings
from snoozer.telemetry import configuration
from snoozer.telemetry import gauges as gauges_of_database
from snoozer.web import create_app
from snoozer.web.health import routes
from tests.factories import ANN, People, a_mailbox, a_snooze, now
from tests.stalling import StallingWay

# Without its own deadline a probe of a hanging database waits for 90 seconds.
HANG_SECONDS = 45


@pytest.fixture
def cut_off(settings: Settings) -> FlaskClient:
    """A site whose database is unavailable."""
    away = make_engine("postgresql+psycopg://user@127.0.0.1:9/none", name="away")
    return create_app(engine=away, settings=settings).test_client()


def test_the_process_is_healthy_also_without_a_database(client: FlaskClient, cut_off: FlaskClient) -> None:
    for site in (client, cut_off):
        answer = site.get("/healthz")
        assert (answer.status_code, answer.get_json()) == (200, {"status": "ok"})


def test_ready_reports_how_late_the_oldest_due_row_is(client: FlaskClient, engine: Engine) -> None:
    assert client.get("/readyz").get_json()["oldest_due_seconds"] == 0
    a_snooze(engine, remind_at=now() - timedelta(seconds=90))
    a_snooze(engine, remind_at=now() + timedelta(seconds=90))
    a_snooze(engine, remind_at=now() - timedelta(hours=1), attempts=5)
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert 90 <= ready.get_json()["oldest_due_seconds"] < 100


def test_ready_and_metrics_report_what_is_overdue_in_mailboxes(
    client: FlaskClient, engine: Engine, people: People
) -> None:
    """By state and code, and no address."""
    people.ann()
    assert "mailboxes" not in client.get("/readyz").get_json()
    a_mailbox(engine, owner="host-1", owned_until=now() + timedelta(minutes=1))
    a_mailbox(engine, problem="gone", problem_since=now(), owner="host-2", owned_until=now() - timedelta(hours=1))
    paused = a_mailbox(engine, state="paused", problem="login", problem_since=now())
    id = a_snooze(engine, message_id="<late@mail.example>", remind_at=now() - timedelta(minutes=9))
    values = {"mailbox": paused, "user": ANN, "snooze": id}
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO messages (mailbox_id, user_email, message_id, fingerprint, size, internal_date, "
                "home, place, wanted, folder, uidvalidity, uid) VALUES "
                "(:mailbox, :user, '<late@mail.example>', '', 1, now(), 'INBOX', 'home', 'snoozed', 'INBOX', 1, 1)"
            ),
            values,
        )
    assert client.get("/readyz").get_json()["mailboxes"] == {"connected": 3, "unwatched": 1, "overdue": 1}
    exported = InMemoryMetricReader()
    gauges_of_database.register(
        engine, MeterProvider(metric_readers=[exported]).get_meter("tests"), dead_after=timedelta(seconds=10)
    )
    points = gauges(exported)
    assert points["mailboxes.connected"] == {
        (("problem", "none"), ("state", "active")): 1,
        (("problem", "gone"), ("state", "active")): 1,
        (("problem", "login"), ("state", "paused")): 1,
    }
    numbers = {name: points[f"mailboxes.{name}"][()] for name in ("watched", "unwatched", "overdue", "moves_waiting")}
    assert numbers == {"watched": 1, "unwatched": 1, "overdue": 1, "moves_waiting": 1}
    assert 540 <= points["mailboxes.oldest_overdue_seconds"][()] < 600


def gauges(reader: InMemoryMetricReader) -> dict[str, dict[tuple[tuple[str, object], ...], float]]:
    """What each gauge shows, by its attributes."""
    data: Any = reader.get_metrics_data()
    return {
        metric.name: {tuple(sorted(point.attributes.items())): point.value for point in metric.data.data_points}
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_ready_reports_that_workers_wait_after_a_failover(client: FlaskClient, engine: Engine) -> None:
    assert "waiting" not in client.get("/readyz").get_json()
    with engine.begin() as connection:
        timeline.accept(connection, accepted_by="tests")
        connection.execute(text("UPDATE accepted_timelines SET timeline = '00000000'"))
    ready = client.get("/readyz")
    assert (ready.status_code, "a standby was promoted" in ready.get_json()["waiting"]) == (200, True)


def test_not_ready_while_the_database_is_away(cut_off: FlaskClient) -> None:
    answer = cut_off.get("/readyz")
    assert (answer.status_code, answer.get_json()["code"]) == (503, "database_away")


def test_probes_are_answered_while_the_database_hangs(way: StallingWay, settings: Settings) -> None:
    """Its connections stayed open, so the first probe was answered after a minute and a half."""
    hanging = make_engine(way.url, name="hanging", ping_after=0)
    site = create_app(engine=hanging, settings=settings).test_client()
    assert site.get("/readyz").status_code == 200
    way.stall()
    for path, status in (("/readyz", 503), ("/metrics", 200), ("/healthz", 200), ("/readyz", 503)):
        with ThreadPoolExecutor(1) as probe:
            assert probe.submit(site.get, path).result(timeout=HANG_SECONDS).status_code == status
    way.flow()
    assert site.get("/readyz").status_code == 200
    hanging.dispose()


def test_a_readiness_query_that_timed_out_does_not_keep_running(
    client: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "READY_SECONDS", 0.2)
    with engine.begin() as holder:
        holder.execute(text("LOCK TABLE email_snoozes IN ACCESS EXCLUSIVE MODE"))
        assert client.get("/readyz").status_code == 503
        waits = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        while holder.execute(waits).scalar_one():
            time.sleep(0.01)
    assert client.get("/readyz").status_code == 200


def test_not_ready_while_the_database_only_reads_and_ready_once_it_writes(
    empty_database: Engine, settings: Settings
) -> None:
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text("ALTER DATABASE another SET default_transaction_read_only = on"))
    engine = make_engine(empty_database.url.render_as_string(hide_password=False), name="reads")
    site = create_app(engine=engine, settings=settings).test_client()
    answer = site.get("/readyz")
    assert (answer.status_code, answer.get_json()["code"]) == (503, "database_read_only")
    with empty_database.begin() as connection:
        connection.execute(text("ALTER DATABASE another RESET default_transaction_read_only"))
    assert site.get("/readyz").status_code == 200
    engine.dispose()


def test_not_ready_while_the_schema_is_behind_and_ready_when_it_is_ahead(
    empty_database: Engine, settings: Settings
) -> None:
    site = create_app(engine=empty_database, settings=settings).test_client()
    assert site.get("/readyz").get_json()["code"] == "schema_behind"
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0042'"))
    behind = site.get("/readyz")
    assert (behind.status_code, behind.get_json()["code"]) == (503, "schema_behind")
    assert "docs/keeping.md" in behind.get_json()["detail"]
    with empty_database.begin() as connection:
        connection.execute(
            text("UPDATE alembic_version SET version_num = :head"), {"head": schema.versions(connection)[1]}
        )
    assert site.get("/readyz").status_code == 200
    with empty_database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert site.get("/readyz").status_code == 200


def test_metrics_are_in_prometheus_format_without_personal_data(client: FlaskClient, engine: Engine) -> None:
    a_snooze(engine, subject="SECRETSUBJECT")
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    metrics = answer.get_data(as_text=True)
    assert "SECRETSUBJECT" not in metrics
    assert ANN not in metrics


def test_a_second_host_leaves_the_gauges_of_the_database_out(client: FlaskClient, engine: Engine) -> None:
    """Else a sum over the web's hosts would count what waits twice."""
    a_snooze(engine)
    assert "\nqueue_depth 1.0\n" in client.get("/metrics").get_data(as_text=True)
    assert "queue_depth" not in client.get("/metrics?database=0").get_data(as_text=True)


def test_without_telemetry_there_are_no_metrics(engine: Engine, settings: Settings) -> None:
    disabled = Settings(**settings.model_dump(by_alias=True) | {"OTEL_": configuration.Config(is_disabled=True)})
    answer = create_app(engine=engine, settings=disabled).test_client().get("/metrics")
    assert (answer.status_code, answer.get_data(as_text=True)) == (404, "No metrics: OTEL_SDK_DISABLED is true.\n")


def test_monitoring_needs_no_sign_in(client: FlaskClient) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert client.get(path).status_code == 200
        assert client.head(path).status_code == 200
        assert client.post(path).status_code == 405
