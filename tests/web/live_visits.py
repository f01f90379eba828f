"""A person's browser on a running site, without a browser."""

import re
from dataclasses import dataclass

from tests.web.live_site import LiveSite

# In none of the files.
_BOUNDARY = "upload-of-a-test"
_UPLOAD = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{{}}"{{}}\r\n\r\n'


@dataclass(frozen=True)
class Visitor:
    """Asks the site as the person of this session."""

    site: LiveSite
    session: str

    @property
    def _cookie(self) -> str:
        return f"snoozer_session={self.session}"

    def get(self, path: str) -> tuple[int, str]:
        """Returns the status and the whole response."""
        return self.site.request(path, cookie=self._cookie, accept_encoding="identity")

    def upload_body(self, page: str, field: str, content: bytes) -> tuple[bytes, str]:
        """The body of the form of this page with a file, and the cookies to send with it."""
        _, shown = self.get(page)
        token = re.search(r'name="csrf_token" value="([^"]+)"', shown)
        assert token is not None
        cookies = re.findall(r"^set-cookie: ([^;]+)", shown, re.MULTILINE | re.IGNORECASE)
        body = _UPLOAD.format("csrf_token", "").encode() + token[1].encode() + b"\r\n"
        body += _UPLOAD.format(field, '; filename="a.zip"').encode() + content + f"\r\n--{_BOUNDARY}--\r\n".encode()
        return body, "; ".join([self._cookie, *cookies])

    def post(self, path: str, body: bytes, cookie: str) -> tuple[int, str]:
        """Returns the status and the whole response to an upload."""
        return self.site.request(
            path,
            method="POST",
            body=body,
            content_type=f"multipart/form-data; boundary={_BOUNDARY}",
            cookie=cookie,
            accept_encoding="identity",
        )
