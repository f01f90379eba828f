from snoozer.delivery import bucket_assignment


def test_every_bucket_belongs_to_exactly_one_worker() -> None:
    workers = ["a", "b", "c"]
    shares = [bucket_assignment.assigned_buckets(worker, workers=workers) for worker in workers]
    assert sorted(bucket for share in shares for bucket in share) == list(range(bucket_assignment.BUCKETS))


def test_a_worker_that_joins_takes_about_its_share_and_moves_no_other_bucket() -> None:
    before = {worker: set(bucket_assignment.assigned_buckets(worker, workers=["a", "b", "c"])) for worker in "abc"}
    after = {worker: set(bucket_assignment.assigned_buckets(worker, workers=["a", "b", "c", "d"])) for worker in "abcd"}
    assert all(after[worker] <= before[worker] for worker in "abc")
    assert 0.15 < len(after["d"]) / bucket_assignment.BUCKETS < 0.35


def test_a_worker_alone_owns_everything() -> None:
    assert len(bucket_assignment.assigned_buckets("a", workers=["a"])) == bucket_assignment.BUCKETS
