"""Sample messages: short subjects that a person might snooze, each with its own id."""

_SUBJECTS = (
    "Renew the passport",
    "Invoice 4711 is due",
    "Call the dentist",
    "Draft of the contract",
    "Tickets for Friday",
    "Water the fig tree",
    "Minutes of the meeting",
    "Your parcel arrives",
    "Photos from the lake",
    "Read: how queues fail",
    "Rent for the cellar",
    "Answer Grandma",
    "Bread for Sunday",
    "Train at 8:14",
    "Review before Monday",
    "A form for the school",
)


def make(number: int, *, word: str = "") -> tuple[str, str, str]:
    """Its Message-ID, subject and bytes; the id contains `word`."""
    subject = f"{_SUBJECTS[number % len(_SUBJECTS)]} · {number}"
    message_id = f"<{word or 'message'}-{number}@lab.example>"
    original = (
        f"Message-ID: {message_id}\r\nFrom: Snoozer's lab <lab@lab.example>\r\nSubject: {subject.replace('·', '-')}\r\n"
        "Date: Thu, 5 Mar 2026 10:20:00 +0000\r\n\r\nA message to be put away.\r\n"
    )
    return message_id, subject, original
