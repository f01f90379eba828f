"""A name server of our own: answers from a table, over UDP on loopback."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
from dns.resolver import Resolver

Records = Mapping[tuple[str, str], list[str]]


@contextlib.contextmanager
def answering(records: Records) -> Iterator[Resolver]:
    """A resolver that asks this server alone; what is not in `records` by (name, type) does not exist."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=_serve, args=(server, records), daemon=True)
        thread.start()
        resolver = Resolver(configure=False)
        resolver.nameservers = ["127.0.0.1"]
        resolver.port = server.getsockname()[1]
        yield resolver
        # An empty datagram ends it.
        server.sendto(b"", server.getsockname())
        thread.join()


def _serve(server: socket.socket, records: Records) -> None:
    while True:
        datagram, asker = server.recvfrom(4096)
        if not datagram:
            return
        question = dns.message.from_wire(datagram)
        [asked] = question.question
        name, kind = asked.name.to_text(omit_final_dot=True), dns.rdatatype.to_text(asked.rdtype)
        answer = dns.message.make_response(question)
        answer.flags |= dns.flags.RA
        texts = records.get((name, kind))
        if texts is None:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        else:
            answer.answer.append(dns.rrset.from_text(asked.name, 60, "IN", kind, *texts))
        server.sendto(answer.to_wire(), asker)
