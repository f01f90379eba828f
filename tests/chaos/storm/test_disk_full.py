"""The disk of the write-ahead log is full, and the server goes down under load; with space again it is started anew."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from snoozer.dev.processes import database_reaper
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.ground import Ground
from tests.chaos.storm.small_disk import SmallDisk, SmallDiskPlace, server_with_its_log_on, use_up_log
from tests.chaos.storm.stage import Stage

AWAY = 3.0


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with tempfile.TemporaryDirectory(prefix="snoozer-disk-") as name:
        Path(name).chmod(0o711)
        disk = SmallDisk(Path(name) / "log")
        if not disk.mount():
            pytest.skip("left out: only root may mount a small disk, where it may")
        yield disk
        disk.unmount()


@pytest.fixture
def place(disk: SmallDisk, ground: Ground, open_folder: Path) -> Iterator[SmallDiskPlace]:
    with database_reaper() as register:
        server = server_with_its_log_on(disk, home=open_folder, on_launch=register)
        yield SmallDiskPlace(server=server, maternity=ground.maternity)
        server.stop()


def test_the_disk_of_the_log_is_full(stage: Stage, disk: SmallDisk, place: SmallDiskPlace) -> None:
    with replace(stage, ground=place).act() as act:

        def fill_up() -> bool:
            disk.fill_up()
            use_up_log(place.server)
            act.storm.stop.wait(AWAY)
            disk.free()
            place.server.start()
            return True

        act.storm.let_loose("disk full", fill_up, times=5 if FULL else 1, pace=(2.0, 3.0))
    assert act.verdict.duplicated == 0, act.verdict
