"""Whether another process is dead: certain, or not claimed."""

import subprocess
import sys
import time

from snoozer.runtime.process_identity import is_dead, process_name

NAME = "from snoozer.runtime.process_identity import process_name; print(process_name(), flush=True); input()"


def test_a_process_is_dead_once_it_was_killed_also_before_its_parent_knows() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NAME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        name = child.stdout.readline().strip()
        assert not is_dead(name)
        child.kill()
        # It has ended, and nothing has waited for it yet: reading its output does, to the end.
        assert child.stdout.read() == ""
        while not is_dead(name):
            assert child.returncode is None
            time.sleep(0.001)
    assert is_dead(name)


def test_a_number_that_another_process_has_now_is_no_sign_of_life() -> None:
    place_and_number, _, _ = process_name().rpartition(".")
    assert is_dead(f"{place_and_number}.1")


def test_a_process_that_cannot_be_seen_from_here_is_not_called_dead() -> None:
    host, _, rest = process_name().partition("@")
    _, _, number_and_start = rest.partition(".")
    assert not is_dead(f"{host}@another-boot:4026531836.{number_and_start}")
    assert not is_dead("host-4194304-0a1b2c3d")
    assert not is_dead(process_name())
