"""Finding a mailbox's server: what the domain names comes first, and no guess is ever given a name or a password."""

import ssl
from contextlib import ExitStack
from pathlib import Path

import pytest

from snoozer.mailboxes import discovery, mail_providers
from snoozer.mailboxes.discovery import Candidate
from tests.mail import name_server
from tests.mail.greeter import Greeter

DOMAIN = "example.test"
IMAPS, IMAP = f"_imaps._tcp.{DOMAIN}", f"_imap._tcp.{DOMAIN}"

Certificate = tuple[ssl.SSLContext, Path]


def find(
    records: dict[tuple[str, str], list[str]],
    *,
    certificate: Certificate | None = None,
    domain: str = DOMAIN,
    allow_private: bool = True,
) -> discovery.Discovery:
    trusted = None if certificate is None else ssl.create_default_context(cafile=str(certificate[1]))
    with name_server.answering(records) as resolver:
        return discovery.find_server(domain, allow_private=allow_private, name_server=resolver, tls=trusted)


@pytest.mark.parametrize(
    ("domain", "host"),
    [
        ("gmail.com", "imap.gmail.com"),
        ("GMAIL.com", "imap.gmail.com"),
        ("hotmail.com", "outlook.office365.com"),
        ("web.de", "imap.web.de"),
        ("gmx.net", "imap.gmx.net"),
        ("me.com", "imap.mail.me.com"),
    ],
)
def test_a_big_provider_is_known_without_a_connection(domain: str, host: str) -> None:
    found = find({}, domain=domain)
    assert found.server == Candidate(host, 993, "tls", "provider")
    assert found.provider is not None
    assert found.provider.hint is not None


def test_a_customers_domain_is_known_by_where_its_mail_goes() -> None:
    found = find({(DOMAIN, "MX"): ["10 alt1.aspmx.l.google.com.", "5 aspmx.l.google.com."]})
    assert found.provider is mail_providers.of_domain("gmail.com")
    found = find({(DOMAIN, "MX"): ["0 example-test.mail.protection.outlook.com."]})
    assert found.provider is not None
    assert not found.provider.takes_passwords
    assert mail_providers.of_mail_host("notgoogle.com") is None


def test_no_domain_and_no_server_has_two_providers() -> None:
    domains = [domain for provider in mail_providers.PROVIDERS for domain in provider.domains]
    hosts = [provider.host for provider in mail_providers.PROVIDERS]
    assert len(set(domains)) == len(domains)
    assert len(set(hosts)) == len(hosts)


def test_the_server_that_the_domain_announces_is_found_by_its_port(certificate: Certificate) -> None:
    with Greeter(certificate[0]) as server:
        found = find({(IMAPS, "SRV"): [f"0 1 {server.port} localhost."]}, certificate=certificate)
        assert found.server == Candidate("localhost", server.port, "tls", "dns")
    assert server.received == []


def test_announced_servers_are_taken_by_priority_then_weight(certificate: Certificate) -> None:
    with ExitStack() as stack:
        low, heavy, light = (stack.enter_context(Greeter(certificate[0])) for _ in range(3))
        texts = [f"20 9 {low.port} localhost.", f"10 1 {light.port} localhost.", f"10 5 {heavy.port} localhost."]
        found = find({(IMAPS, "SRV"): texts}, certificate=certificate)
    assert found.server is not None
    assert found.server.port == heavy.port


def test_one_that_does_not_answer_is_passed_over(certificate: Certificate) -> None:
    with Greeter(certificate[0]) as gone:
        pass
    with Greeter(certificate[0], begin="plain") as server:
        records = {
            (IMAPS, "SRV"): [f"0 1 {gone.port} localhost."],
            (IMAP, "SRV"): [f"0 1 {server.port} localhost."],
        }
        found = find(records, certificate=certificate)
        assert found.server == Candidate("localhost", server.port, "starttls", "dns")
    assert server.received == [b"a1 STARTTLS\r\n"]


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n", b"220 smtp ready\r\n", b"* BYE full\r\n"])
def test_what_does_not_greet_as_an_imap_server_does_is_none(certificate: Certificate, greeting: bytes) -> None:
    trusted = ssl.create_default_context(cafile=str(certificate[1]))
    with Greeter(certificate[0], greeting=greeting) as server:
        candidate = Candidate("localhost", server.port, "tls", "dns")
        assert discovery.first_answering([candidate], allow_private=True, tls=trusted) is None


def test_a_server_with_a_certificate_that_is_not_trusted_is_not_taken(certificate: Certificate) -> None:
    with Greeter(certificate[0]) as server:
        candidates = [Candidate("localhost", server.port, "tls", "dns")]
        assert discovery.first_answering(candidates, allow_private=True) is None


def test_a_server_without_starttls_is_not_taken() -> None:
    with Greeter(None, begin="plain") as server:
        candidates = [Candidate("localhost", server.port, "starttls", "dns")]
        assert discovery.first_answering(candidates, allow_private=True) is None


def test_an_announced_server_that_does_not_answer_is_offered_for_a_try_by_hand(certificate: Certificate) -> None:
    with Greeter(certificate[0]) as gone:
        pass
    found = find({(IMAPS, "SRV"): [f"0 1 {gone.port} localhost."]}, certificate=certificate)
    assert found.server == Candidate("localhost", gone.port, "tls", "dns")


def test_a_record_that_leads_inside_is_not_connected_to(certificate: Certificate) -> None:
    with Greeter(certificate[0]) as server:
        candidates = [Candidate("localhost", server.port, "tls", "dns"), Candidate("127.0.0.1", 993, "tls", "dns")]
        trusted = ssl.create_default_context(cafile=str(certificate[1]))
        assert discovery.first_answering(candidates, allow_private=False, tls=trusted) is None


def test_a_domain_that_says_it_has_none_or_does_not_exist_has_none() -> None:
    assert find({(IMAPS, "SRV"): ["0 0 0 ."]}).server is None
    assert find({}).server is None


def test_usual_names_begin_with_those_that_have_tls_from_the_start() -> None:
    names = [(each.host, each.port) for each in discovery.usual_names("a.example")]
    assert names[:3] == [("imap.a.example", 993), ("mail.a.example", 993), ("a.example", 993)]
    assert {port for _, port in names[3:]} == {143}
