"""Keeps the mail it gets on port 1025 and lists the subjects as a page on port 8025."""

import html
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, HTTPServer

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

subjects: list[str] = []


class Keep:
    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        subjects.insert(0, str(message_from_bytes(content, policy=policy.default)["Subject"]))
        return "250 2.0.0 Kept"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write("".join(f"<p>{html.escape(subject)}</p>" for subject in subjects).encode())


if __name__ == "__main__":
    Controller(Keep(), hostname="0.0.0.0", port=1025).start()  # noqa: S104 - in a container
    HTTPServer(("", 8025), Page).serve_forever()
