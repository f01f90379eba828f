"""Operations that will be removed, and the headers that announce it."""

from dataclasses import dataclass
from datetime import datetime

from werkzeug.http import http_date


@dataclass(frozen=True, kw_only=True)
class Deprecation:
    """Since when an operation is deprecated (RFC 9745), when it will be gone (RFC 8594), and a page that says what
    replaces it. The times are aware."""

    since: datetime
    sunset: datetime | None = None
    link: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Deprecation": f"@{int(self.since.timestamp())}"}
        if self.sunset is not None:
            headers["Sunset"] = http_date(self.sunset)
        if self.link is not None:
            headers["Link"] = f'<{self.link}>; rel="deprecation"; type="text/html"'
        return headers
