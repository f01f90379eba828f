"""The capacity planner: examples that one can do by hand, and what must hold of any plan."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoozer.cli.plan import Demand, Figures, Means, fitted, plan, throughput

ROUND = Figures(
    batch_seconds=0.05,
    reminder_seconds=0.001,
    worker_cpu_seconds=0.001,
    server_batch_seconds=0.005,
    server_reminder_seconds=0.0001,
    wal_bytes=5000,
    other_wal_bytes=2000,
    asleep_bytes=600,
    over_bytes=1000,
    archived_bytes=500,
)
HERD_ONLY = Demand(people=60_000, per_day=1, herd_share=1, herd_seconds=60)
MEANS = Means(batch=50, database_cores=2, wal_bytes_a_second=100e6, busy=0.5)

above_nothing = st.floats(1e-6, 1.0)
figures = st.builds(
    Figures,
    batch_seconds=above_nothing,
    reminder_seconds=above_nothing,
    worker_cpu_seconds=above_nothing,
    server_batch_seconds=above_nothing,
    server_reminder_seconds=above_nothing,
    wal_bytes=st.floats(100, 1e6),
    other_wal_bytes=st.floats(100, 1e6),
    asleep_bytes=st.floats(100, 1e5),
    over_bytes=st.floats(100, 1e5),
    archived_bytes=st.floats(100, 1e5),
)
demands = st.builds(
    Demand,
    people=st.floats(1, 1e9),
    per_day=st.floats(0.01, 1000),
    herd_share=st.floats(0, 1),
    herd_seconds=st.floats(1, 86_400),
    waking_hours=st.floats(1, 24),
    asleep_days=st.floats(0, 365),
)
means = st.builds(
    Means,
    batch=st.integers(1, 1000),
    database_cores=st.floats(1, 128),
    wal_bytes_a_second=st.floats(1e6, 1e9),
    busy=st.floats(0.1, 1),
)


def test_throughput_is_workers_times_batch_over_what_a_batch_takes() -> None:
    assert throughput(ROUND, batch=50) == pytest.approx(500)
    assert throughput(ROUND, batch=50, workers=3) == pytest.approx(1500)


def test_a_herd_of_a_thousand_a_second_takes_four_workers_that_are_half_busy() -> None:
    planned = plan(HERD_ONLY, MEANS, ROUND)
    assert planned.peak == pytest.approx(1000)
    assert planned.workers == 4
    assert planned.worker_cores == pytest.approx(2)
    assert planned.database_cores == pytest.approx(0.4)
    assert planned.wal_bytes_a_day == pytest.approx(420e6)


def test_one_database_ends_where_its_cores_or_its_disk_are_used_up() -> None:
    by_cpu = plan(HERD_ONLY, MEANS, ROUND)
    assert (by_cpu.limit, by_cpu.fits) == ("CPU", True)
    assert by_cpu.most == pytest.approx(5000)
    assert by_cpu.most_people == pytest.approx(300_000)
    by_wal = plan(HERD_ONLY, replace(MEANS, wal_bytes_a_second=5e6), ROUND)
    assert (by_wal.limit, by_wal.fits) == ("write-ahead log", False)
    assert by_wal.most == pytest.approx(500)


def test_a_year_is_rows_that_wait_rows_that_are_over_and_the_archive() -> None:
    demand = Demand(people=1, per_day=1, asleep_days=3)
    planned = plan(demand, replace(MEANS, archive_after_days=35), ROUND)
    assert planned.bytes_after_a_year == pytest.approx(3 * 600 + 35 * 1000 + 330 * 500)


def test_the_rest_of_the_day_comes_evenly_beside_the_herd() -> None:
    demand = Demand(people=36_000, per_day=2, herd_share=0.5, herd_seconds=36, waking_hours=10)
    assert demand.peak == pytest.approx(1000 + 1)


def test_a_line_through_measurements_is_found_again() -> None:
    assert fitted({10: 0.03, 50: 0.07, 100: 0.12}) == pytest.approx((0.02, 0.001))


def test_of_one_size_all_counts_as_the_reminders() -> None:
    assert fitted({50: 0.1}) == pytest.approx((0.0, 0.002))


def test_measurements_that_make_no_line_still_make_sense() -> None:
    assert fitted({10: 0.1, 50: 0.1, 100: 0.1}) == pytest.approx((0.1, 0.0))
    falling = fitted({10: 0.2, 50: 0.1})
    assert falling == pytest.approx((0.15, 0.0))
    steep, each = fitted({10: 0.001, 50: 0.2})
    assert steep == 0.0
    assert 0.001 / 10 < each < 0.2 / 50


@given(st.dictionaries(st.integers(1, 1000), st.floats(1e-4, 100), min_size=1, max_size=6))
def test_what_is_fitted_is_never_less_than_nothing(seconds: dict[int, float]) -> None:
    batch, each = fitted(seconds)
    assert batch >= 0
    assert each >= 0
    assert batch + each > 0


@given(demands, means, figures)
def test_one_database_is_enough_up_to_its_end_and_not_beyond(demand: Demand, means: Means, figures: Figures) -> None:
    most = plan(demand, means, figures).most_people
    assert plan(replace(demand, people=most * 0.999), means, figures).fits
    assert not plan(replace(demand, people=most * 1.001), means, figures).fits


@given(demands, means, figures)
def test_the_cells_of_a_plan_are_enough_and_none_is_left_over(demand: Demand, means: Means, figures: Figures) -> None:
    cells = plan(demand, means, figures).cells
    assert plan(replace(demand, people=demand.people / cells * 0.999), means, figures).fits
    assert cells == 1 or not plan(replace(demand, people=demand.people / (cells - 1) * 1.001), means, figures).fits


@given(demands, means, figures, st.floats(1, 100))
def test_more_people_never_need_less(demand: Demand, means: Means, figures: Figures, more: float) -> None:
    few, many = plan(demand, means, figures), plan(replace(demand, people=demand.people * more), means, figures)
    assert many.workers >= few.workers
    assert many.worker_cores >= few.worker_cores
    assert many.database_cores >= few.database_cores
    assert many.bytes_after_a_year >= few.bytes_after_a_year
    assert many.wal_bytes_a_day >= few.wal_bytes_a_day
    assert many.most == few.most


@given(demands, means, figures)
def test_the_workers_of_a_plan_reach_its_peak(demand: Demand, means: Means, figures: Figures) -> None:
    planned = plan(demand, means, figures)
    reached = throughput(figures, batch=means.batch, workers=planned.workers) * means.busy
    assert reached >= planned.peak * (1 - 1e-9)


@given(figures, st.integers(1, 500))
def test_larger_batches_are_never_slower(figures: Figures, batch: int) -> None:
    assert throughput(figures, batch=2 * batch) >= throughput(figures, batch=batch) * (1 - 1e-9)
