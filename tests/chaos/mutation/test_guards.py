"""The list of guards stays true: each quotes text that stands once in its place, and names a test that exists."""

import pytest

from tests.chaos.mutation.guard import Guard
from tests.chaos.mutation.guards import GUARDS
from tests.chaos.mutation.prove import ROOT


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_the_guard_stands_once_and_its_test_exists(guard: Guard) -> None:
    assert guard.part(ROOT).count(guard.old) == 1
    file, _, name = guard.test.partition("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text()
