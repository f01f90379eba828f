"""The doctor's findings about the DNS records of a sender's domain, with a name server of ours."""

from typing import Any

import pytest
from dns.resolver import Answer, NoNameservers, Resolver

from snoozer.cli.finding import Finding
from snoozer.cli.sender_dns import Sender, sender_findings
from tests.mail.name_server import Records, answering

RIGHT: Records = {
    ("mail.ann.org", "TXT"): ['"v=spf1 mx " "-all"', '"some-site-verification=1"'],
    ("s1._domainkey.ann.org", "TXT"): ['"v=DKIM1; k=rsa; " "p=QUJD"'],
    ("_dmarc.ann.org", "TXT"): ['"v=DMARC1; p=reject"'],
    ("mail.ann.org", "MX"): ["10 mx.ann.org."],
    ("relay.ann.org", "A"): ["192.0.2.1"],
    ("relay.ann.org", "AAAA"): ["2001:db8::1"],
    ("1.2.0.192.in-addr.arpa", "PTR"): ["relay.ann.org."],
    (f"1.{'0.' * 23}8.b.d.0.1.0.0.2.ip6.arpa", "PTR"): ["relay.ann.org."],
}
ANN = Sender(domain="ann.org", bounces="mail.ann.org", host="relay.ann.org", dkim=("s1", "v=DKIM1; k=rsa; p=QUJD"))


def found(records: Records, sender: Sender = ANN) -> dict[str, Finding]:
    with answering(records) as name_server:
        return {finding.check: finding for finding in sender_findings(sender, name_server)}


def test_records_that_are_right() -> None:
    checks = found(RIGHT)
    assert {check: finding.verdict for check, finding in checks.items()} == dict.fromkeys(
        ("SPF", "DKIM", "DMARC", "MX", "PTR"), "right"
    )
    assert not any(finding.do for finding in checks.values())


def test_without_records_each_is_named_with_the_record_to_add() -> None:
    checks = found({("relay.ann.org", "A"): ["192.0.2.1"]})
    assert {check: finding.verdict for check, finding in checks.items()} == {
        "SPF": "advice",
        "DKIM": "wrong",
        "DMARC": "advice",
        "MX": "advice",
        "PTR": "advice",
    }
    for check, record in {
        "SPF": 'mail.ann.org TXT "v=spf1',
        "DKIM": 's1._domainkey.ann.org TXT "v=DKIM1; k=rsa; p=QUJD"',
        "DMARC": '_dmarc.ann.org TXT "v=DMARC1;',
        "MX": "mail.ann.org MX 10",
    }.items():
        assert record in checks[check].do


@pytest.mark.parametrize(
    ("name", "kind", "texts", "check", "verdict", "says"),
    [
        ("mail.ann.org", "TXT", ['"v=spf1 mx -all"', '"v=spf1 a ~all"'], "SPF", "wrong", "2 SPF records"),
        ("mail.ann.org", "TXT", ['"v=spf1 +all"'], "SPF", "wrong", "every host"),
        ("mail.ann.org", "TXT", ['"v=spf1 ALL"'], "SPF", "wrong", "every host"),
        ("mail.ann.org", "TXT", ['"v=spf1 mx ?all"'], "SPF", "advice", "does not name"),
        ("mail.ann.org", "TXT", ['"v=spf1 mx"'], "SPF", "advice", "does not name"),
        ("mail.ann.org", "TXT", ['"v=spf1 include:spf.all.org ~all"'], "SPF", "right", ""),
        ("mail.ann.org", "TXT", ['"v=spf1 redirect=_spf.ann.org"'], "SPF", "right", ""),
        ("mail.ann.org", "TXT", ['"v=spf10 -all"'], "SPF", "advice", "no SPF record"),
        ("s1._domainkey.ann.org", "TXT", ['"v=DKIM1; p=QUJE"'], "DKIM", "wrong", "another key"),
        ("s1._domainkey.ann.org", "TXT", ['"v=DKIM1; p="'], "DKIM", "wrong", "another key"),
        ("_dmarc.ann.org", "TXT", ['"v=DMARC1; p=none"', '"v=DMARC1; p=reject"'], "DMARC", "wrong", "2 records"),
        ("mail.ann.org", "MX", ["0 ."], "MX", "wrong", "takes no mail"),
        ("1.2.0.192.in-addr.arpa", "PTR", ["other.ann.org."], "PTR", "advice", "192.0.2.1"),
    ],
)
def test_a_record_that_is_not_right(
    name: str, kind: str, texts: list[str], check: str, verdict: str, says: str
) -> None:
    finding = found({**RIGHT, (name, kind): texts})[check]
    assert finding.verdict == verdict
    assert says in finding.says
    assert bool(finding.do) == (verdict != "right")


def test_the_policy_of_a_domain_above_counts() -> None:
    sender = Sender(domain="reminders.ann.org", bounces="mail.ann.org", host="")
    checks = found(RIGHT, sender)
    assert (checks["DMARC"].verdict, checks["DKIM"].verdict, checks["PTR"].verdict) == ("right", "skipped", "skipped")


def test_mail_without_an_mx_record_goes_to_the_domains_own_address() -> None:
    checks = found({("mail.ann.org", "A"): ["192.0.2.2"]})
    assert "its own address" in checks["MX"].says


def test_a_name_server_that_does_not_answer_is_asked_once() -> None:
    asked = []

    class Silent(Resolver):
        def resolve(self, *args: Any, **options: Any) -> Answer:
            asked.append(args)
            raise NoNameservers

    checks = list(sender_findings(ANN, Silent(configure=False)))
    assert {finding.verdict for finding in checks} == {"skipped"}
    assert len(asked) == 1
