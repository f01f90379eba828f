"""Mails with a calendar."""

EVENT = (
    "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:u1\r\n{when}\r\nSUMMARY:Budget talk\r\n"
    "LOCATION:Room 4\\, second floor\r\nDESCRIPTION:Join: https://meet.example/a\r\n bc\\nBring the figures\r\n"
    "BEGIN:VALARM\r\nTRIGGER:-PT15M\r\nDESCRIPTION:Alarm\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)
UTC_TIMES = "DTSTART:20261201T130000Z\r\nDTEND:20261201T140000Z"


def a_mail(*parts: tuple[str, str]) -> bytes:
    """A message of these parts: the header of each, and its content."""
    head = "From: Ann <ann@mail.example>\r\nSubject: FW: Budget talk\r\nMIME-Version: 1.0\r\n"
    if len(parts) == 1:
        return f"{head}{parts[0][0]}\r\n\r\n{parts[0][1]}".encode()
    inside = "".join(f"--b\r\n{header}\r\n\r\n{content}\r\n" for header, content in parts)
    return f"{head}Content-Type: multipart/mixed; boundary=b\r\n\r\n{inside}--b--\r\n".encode()


def calendar(when: str = UTC_TIMES, *, type: str = "text/calendar; charset=utf-8; method=REQUEST") -> tuple[str, str]:
    return f"Content-Type: {type}", EVENT.format(when=when)
