"""The ids a chore looks at: all of them, or fewer and fewer while the row is looked for that spoils a batch."""

EVERY_ID = range(1, 2**63)


def bounds(among: range) -> dict[str, int]:
    """The binds `first_id` and `last_id`, both within."""
    return {"first_id": among.start, "last_id": among.stop - 1}
