"""The values of attributes by which metrics are split: few, and none that a stranger can choose.

A worker's name contains its process, which changes at each start; metrics are split by its host, and a process has its
own series anyway (`service.instance.id`, or the address that Prometheus scrapes). Errors are grouped by class: the
first two parts of an enhanced code (RFC 3463), the first digit of the reply, or the class of an exception.
"""

import re

from snoozer.mail.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.transport import Reply

QUEUE = {"queue": "email_snoozes"}
UNNAMED = "other"
WORKER_LOST = "worker_lost"
ATTEMPTS_SPENT = "attempts_spent"
COPY_IN_FLIGHT = "copy_in_flight"
BYTES_DIFFER = "bytes_differ"
UNWRITABLE = "unwritable"
LEDGER_REFUSED = "ledger_refused"
NO_REPLY = "no_reply"
SERVER_UNAVAILABLE = "server_unavailable"

_WORKER = re.compile(r"(.{1,253})-\d{1,10}-[0-9a-f]{8}(@\S*)?", re.S)
# RFC 3463 defines the classes 2, 4 and 5, and the subjects 0 to 7.
_FAMILY = re.compile(r"([45])\.([0-7])\.\d{1,3}")


def host_of(worker: str | None) -> str:
    """The host in a worker's name; "other" if it is not the name of a Snoozer worker."""
    match = _WORKER.fullmatch(worker or "")
    return match[1] if match else UNNAMED


def error_class(error: Exception) -> str:
    """The class of a delivery's error."""
    if isinstance(error, Rejected):
        return reply_class(error.reply)
    if isinstance(error, NoReplyAfterData):
        return NO_REPLY
    if isinstance(error, ServerUnavailable):
        return SERVER_UNAVAILABLE
    return type(error).__name__


def reply_class(reply: Reply) -> str:
    """The family of its enhanced code, as `5.1`, or else the first digit of its code, as `5xx`."""
    family = _FAMILY.fullmatch(reply.enhanced_code or "")
    first = f"{reply.code}"[:1]
    return f"{family[1]}.{family[2]}" if family else f"{first}xx" if first in "2345" else UNNAMED
