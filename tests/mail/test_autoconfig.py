"""The file in which a domain names its mail server: believed as far as a stranger's word goes, and fetched from
nowhere inside of a network."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snoozer.mailboxes import autoconfig, discovery
from snoozer.mailboxes.autoconfig import ImapServer
from snoozer.mailboxes.discovery import Candidate, Discovery
from snoozer.runtime import outbound_http
from snoozer.runtime.outbound_http import HttpError, Limits
from tests.addresses import NEVER, PRIVATE
from tests.mail import name_server
from tests.mail.greeter import Greeter
from tests.mail.web_site import Page, WebSite

DOMAIN = "example.test"
HERE = Limits(seconds=20, size=1_000, allow_private=True)

Certificate = tuple[ssl.SSLContext, Path]


def server_xml(host: str, port: int | str, **changed: str) -> str:
    fields = {"type": "imap", "socket": "SSL", "username": "%EMAILADDRESS%", **changed}
    return (
        f'<incomingServer type="{fields["type"]}"><hostname>{host}</hostname><port>{port}</port>'
        f"<socketType>{fields['socket']}</socketType><username>{fields['username']}</username></incomingServer>"
    )


def a_file(*servers: str) -> bytes:
    inner = "".join(servers)
    return f'<?xml version="1.0"?><clientConfig><emailProvider>{inner}</emailProvider></clientConfig>'.encode()


@pytest.fixture
def trusting(certificate: Certificate) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate[1]))


@pytest.fixture
def site(certificate: Certificate) -> Iterator[WebSite]:
    with WebSite({}, tls=certificate[0]) as site:
        yield site


def find(site: WebSite, tls: ssl.SSLContext, *paths: str, domain: str = DOMAIN) -> Discovery:
    urls = tuple(site.url(path) for path in paths)
    with name_server.answering({}) as resolver:
        return discovery.find_server(domain, allow_private=True, name_server=resolver, tls=tls, files=lambda _: urls)


def test_the_places_are_those_of_thunderbird_and_hold_no_address() -> None:
    assert autoconfig.urls("example.org") == (
        "https://autoconfig.example.org/mail/config-v1.1.xml",
        "https://example.org/.well-known/autoconfig/mail/config-v1.1.xml",
    )
    assert autoconfig.urls("bücher.example")[1].startswith("https://xn--bcher-kva.example/")
    for no_domain in ("a/b", "a@b", "a:1", "a b", "", "a" * 64 + ".example", "-a.example", "a#b"):
        assert autoconfig.urls(no_domain) == (), no_domain


def test_the_server_that_the_file_names_is_found(
    site: WebSite, certificate: Certificate, trusting: ssl.SSLContext
) -> None:
    with Greeter(certificate[0]) as mail:
        ours = server_xml("localhost", mail.port, username="%EMAILLOCALPART%")
        site.pages["/a"] = Page(body=a_file(server_xml("pop.example", 995, type="pop3"), ours))
        found = find(site, trusting, "/a", "/b")
        assert found.server == Candidate("localhost", mail.port, "tls", "file", "%EMAILLOCALPART%")
    assert mail.received == []
    assert sorted(site.asked) == ["/a", "/b"], "all places are asked at once"
    assert autoconfig.username(found.server.username, "ann@example.test") == "ann"


def test_the_second_place_counts_where_the_first_has_no_file(
    site: WebSite, certificate: Certificate, trusting: ssl.SSLContext
) -> None:
    with Greeter(certificate[0]) as mail:
        site.pages |= {
            "/a": Page(body=b"<!doctype html><p>Welcome"),
            "/b": Page(302, headers={"Location": "/c"}),
            "/c": Page(body=a_file(server_xml("localhost", mail.port))),
        }
        found = find(site, trusting, "/a", "/b")
    assert found.server == Candidate("localhost", mail.port, "tls", "file")
    assert found.note is None


def test_a_file_that_names_a_big_provider_names_its_sign_in(site: WebSite, trusting: ssl.SSLContext) -> None:
    site.pages["/a"] = Page(body=a_file(server_xml("imap.gmail.com", 993)))
    found = find(site, trusting, "/a")
    assert found.server == Candidate("imap.gmail.com", 993, "tls", "provider")
    assert found.provider is not None
    assert found.provider.oauth == "google"


def test_a_server_in_the_file_that_leads_inside_is_not_connected_to(
    site: WebSite, certificate: Certificate, trusting: ssl.SSLContext
) -> None:
    """It is proposed all the same: the check says what is wrong."""
    for host in ("169.254.169.254", "localhost"):
        xml = a_file(server_xml(host, 993))
        candidates = [
            Candidate(each.host, each.port, each.security, "file") for each in autoconfig.read(xml, domain="")
        ]
        assert discovery.first_answering(candidates, allow_private=False, tls=trusting) is None


@pytest.mark.parametrize(
    ("xml", "servers"),
    [
        (a_file(server_xml("imap.%EMAILDOMAIN%", 993)),
         [ImapServer("imap.example.test", 993, "tls", "%EMAILADDRESS%")]),
        (a_file(server_xml("IMAP.example.", 143, socket="STARTTLS", username="")),
         [ImapServer("imap.example", 143, "starttls", "%EMAILADDRESS%")]),
        (a_file(server_xml("imap.example", 143, socket="plain")), []),
        (a_file(server_xml("imap.example", 993, type="pop3")), []),
        (a_file(server_xml("imap.example", "993; 1")), []),
        (a_file(server_xml("imap.example", 0), server_xml("imap.example", 65_536), server_xml("imap.example", "")), []),
        (a_file(server_xml("a b", 993), server_xml("", 993), server_xml("imap/x", 993), server_xml("[::1]", 993)), []),
        (a_file(), []),
        (b"<other/>", []),
    ],
)  # fmt: skip
def test_only_imap_servers_with_tls_are_read(xml: bytes, servers: list[ImapServer]) -> None:
    assert list(autoconfig.read(xml, domain=DOMAIN)) == servers


def test_of_many_servers_a_few_are_read() -> None:
    many = a_file(*(server_xml(f"imap{number}.example", 993) for number in range(50)))
    assert len(autoconfig.read(many, domain=DOMAIN)) == autoconfig.MAX_SERVERS


LAUGHS = b"""<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><clientConfig>&b;</clientConfig>"""
OUTSIDE = b"""<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><clientConfig>&a;</clientConfig>"""


@pytest.mark.parametrize(
    "xml", [LAUGHS, OUTSIDE, b"", b"<a>", b"\xff\xfe\0", b'<?xml version="1.0" encoding="no"?><a/>']
)
def test_xml_with_entities_or_none_at_all_is_not_read(xml: bytes) -> None:
    with pytest.raises(ValueError, match="not XML"):
        autoconfig.read(xml, domain=DOMAIN)


def refusal(url: str, *, limits: Limits = HERE, tls: ssl.SSLContext | None = None) -> HttpError:
    with pytest.raises(HttpError) as raised:
        outbound_http.get(url, limits=limits, tls=tls)
    assert str(raised.value).endswith(".")
    return raised.value


@pytest.mark.parametrize("address", [*PRIVATE, *NEVER])
def test_no_page_inside_of_a_network_is_fetched(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    error = refusal(f"https://{host}/", limits=Limits(seconds=20, size=1_000))
    assert error.code in {"refused_address", "url"}


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"])
def test_no_spelling_of_this_machine_is_fetched(host: str) -> None:
    error = refusal(f"https://{host}/", limits=Limits(seconds=20, size=1_000))
    assert error.code == "refused_address"
    assert "private or reserved network" in str(error)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://example.org/", "insecure"),
        ("ftp://example.org/", "insecure"),
        ("file:///etc/passwd", "url"),
        ("https://", "url"),
        ("https://ann:pw@example.org/", "url"),
        ("https://example.org/\r\nX: y", "url"),
        ("https://example.org/ä", "url"),
        ("https://example.org/" + "a" * 2_000, "url"),
        ("https://example.org:x/", "url"),
        ("https://example.org:25/", "port"),
        ("https://example.org:993/", "port"),
        ("https://no.such.invalid/", "name"),
    ],
)
def test_what_is_no_page_of_the_web_is_refused_with_a_sentence(url: str, code: str) -> None:
    assert refusal(url, limits=Limits(seconds=20, size=1_000)).code == code


@pytest.mark.parametrize(
    ("location", "code", "words"),
    [
        ("http://localhost/", "insecure", "redirects to an address that is not https"),
        ("file:///etc/passwd", "insecure", "redirects to an address that is not https"),
        ("//169.254.169.254/latest", "refused_address", "169.254.169.254 leads to an address of"),
        ("https://[::ffff:169.254.169.254]/", "refused_address", "a private or reserved network"),
        ("https://[fe80::1]/", "refused_address", "a private or reserved network"),
        ("https://0.0.0.0/", "refused_address", "a private or reserved network"),
        ("https://ann:pw@localhost/", "url", "holds a user name"),
        ("/again", "redirects", "redirects too often"),
    ],
)
def test_a_redirect_is_checked_like_the_first_address(
    site: WebSite, trusting: ssl.SSLContext, location: str, code: str, words: str
) -> None:
    site.pages |= {path: Page(302, headers={"Location": location}) for path in ("/a", "/again")}
    error = refusal(site.url("/a"), tls=trusting)
    assert (error.code, words in str(error)) == (code, True), str(error)
    found = find(site, trusting, "/a")
    assert (found.server, found.note) == (None, str(error)), "the page says so"


def test_a_name_is_resolved_once_for_each_hop_and_each_answer_is_checked(
    site: WebSite, trusting: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second answer would lead to the metadata of a cloud; the third is never asked for."""
    answers = iter(["127.0.0.1", "169.254.169.254", "127.0.0.1"])

    def getaddrinfo(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    site.pages["/a"] = Page(302, headers={"Location": "/a"})
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert refusal(site.url("/a"), tls=trusting).code == "refused_address"
    assert site.asked == ["/a"]
    assert next(answers) == "127.0.0.1"


def test_an_answer_has_an_end_in_bytes_and_in_seconds(site: WebSite, trusting: ssl.SSLContext) -> None:
    site.pages |= {"/large": Page(body=b"x" * 1_001), "/drip": Page(body=b"x", endless=True)}
    site.pages["/fits"] = Page(body=b"x" * 1_000)
    assert len(outbound_http.get(site.url("/fits"), limits=HERE, tls=trusting).body) == 1_000
    assert refusal(site.url("/large"), tls=trusting).code == "too_large"
    short = Limits(seconds=0.5, size=10_000_000, allow_private=True)
    assert refusal(site.url("/drip"), limits=short, tls=trusting).code == "slow"


def test_a_server_whose_certificate_is_not_trusted_is_not_asked(site: WebSite, trusting: ssl.SSLContext) -> None:
    site.pages["/a"] = Page(body=b"x")
    assert refusal(site.url("/a")).code == "certificate"
    assert refusal(site.url("/a", host="127.0.0.1"), tls=trusting).code == "certificate"
    assert site.asked == []


def test_without_tls_a_private_network_alone_is_asked() -> None:
    with WebSite({"/a": Page(body=b"x")}) as site:
        assert outbound_http.get(site.url("/a"), limits=HERE).body == b"x"
        assert refusal(site.url("/a"), limits=Limits(seconds=20, size=10)).code == "insecure"


def test_what_is_no_web_server_is_one_sentence() -> None:
    with Greeter(None, begin="plain", greeting=b"* OK ready\r\n") as mail:
        assert refusal(f"http://127.0.0.1:{mail.port}/").code == "protocol"
    assert refusal(f"http://127.0.0.1:{mail.port}/").code == "unreachable"
