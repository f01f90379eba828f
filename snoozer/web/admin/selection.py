"""Which cases a page of the operator's is about, as its address or form says."""

import re
from collections.abc import Mapping

from flask import abort

_FINGERPRINT = re.compile(r"[0-9a-f]{32}")


def fingerprint(given: Mapping[str, str]) -> str | None:
    """Returns the fingerprint of the error that the cases have in common, None for all; 400 for anything else."""
    reason = given.get("reason") or None
    if reason is not None and not _FINGERPRINT.fullmatch(reason):
        abort(400)
    return reason
