"""Which cases a page of the operator's is about, as its address or form says."""

from collections.abc import Mapping

from flask import abort

from snoozer.db.queries.case_filter import Filter, InvalidFilter


def selected(given: Mapping[str, str]) -> Filter:
    """Returns what the cases have in common; 400, with what is wrong, for a field that means nothing."""
    try:
        return Filter.from_args(given)
    except InvalidFilter as error:
        abort(400, str(error))
