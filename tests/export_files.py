"""Files of an export as tests write them, and what is read of them."""

import io
import json
from datetime import timedelta
from typing import Any

from snoozer.people.personal_data.import_file import Reading, read
from tests.factories import now

DAY = timedelta(days=1)
HEAD = {"type": "export", "format": "snoozer-export", "version": 1, "exported_at": "2026-01-01T00:00:00+00:00"}
WEEKLY = {
    **{"unit": "week", "interval": 1, "start": "2026-01-05", "at": "09:00:00", "weekdays": [0], "day": None},
    **{
        "nth": None,
        "month": None,
        "until": None,
        "times": None,
        "weekend_rule": "none",
        "rest": [5, 6],
        "week_start": 0,
    },
}


def a_record(**values: Any) -> dict[str, Any]:
    return {
        **{"type": "snooze", "state": "waiting", "message_id": "<1@x>", "promised": (now() + DAY).isoformat()},
        **{"created_at": "2026-01-01T00:00:00+00:00", "zone": "UTC"},
        **values,
    }


def a_file(*records: Any) -> bytes:
    return b"\n".join(json.dumps(record).encode() for record in (HEAD, *records))


def read_bytes(content: bytes) -> Reading:
    return read(io.BytesIO(content), now=now(), keep_months=24)
