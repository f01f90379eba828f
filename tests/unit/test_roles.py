"""Which role may do what in the operators' room."""

import pytest

from snoozer.db.roles import LEAST_ROLE, ROLES, at_least, may


def test_each_role_includes_the_ones_before() -> None:
    for number, role in enumerate(ROLES):
        assert [at_least(role, least) for least in ROLES] == [True] * (number + 1) + [False] * (3 - number)


@pytest.mark.parametrize(
    ("role", "acts"),
    [
        ("user", set()),
        ("viewer", {"view", "view_audit"}),
        ("operator", set(LEAST_ROLE) - {"view_accounts", "change_role", "unmask"}),
        ("admin", set(LEAST_ROLE)),
        ("a role of a newer release", set()),
    ],
)
def test_what_a_role_may_do(role: str, acts: set[str]) -> None:
    assert {act for act in LEAST_ROLE if may(role, act)} == acts


def test_an_unknown_act_is_an_error() -> None:
    with pytest.raises(KeyError):
        may("admin", "make coffee")
