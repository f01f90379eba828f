"""Two hosts share the work, and one is cut off from everything for half a minute: its connections hang, and are not
reset. Nothing is lost, no copy is unmarked, the other host goes on, and takes over what the first one held.

Opt-in: it needs root for network namespaces, and minutes.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg
import pytest

from snoozer.db import accounts
from snoozer.db.engine import make_engine
from snoozer.db.url import parse_url
from snoozer.dev.processes import CHILD, database_reaper, reaper
from snoozer.runtime import encryption
from tests.chaos.storm import arrivals
from tests.chaos.storm.aftermath import wait_for_mails
from tests.chaos.storm.arrivals import Arrivals
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.evidence import Evidence, Held
from tests.chaos.storm.fleet import DECLARED_DEAD, until
from tests.chaos.storm.ground import DEFAULTS, Ground, Scene
from tests.chaos.storm.hosts import Host, Network, NetworkedPlace, a_server, lacking
from tests.chaos.storm.judge import judge
from tests.chaos.storm.stage import Stage
from tests.conftest import missing
from tests.factories import a_mailbox, an_original
from tests.imap import dovecot
from tests.imap.dovecot import PASSWORD, Dovecot
from tests.imap.watched import MailProgram

pytestmark = [
    pytest.mark.skipif(not FULL, reason="left out: two hosts, one cut off: make storm"),
    pytest.mark.timeout(900),
]

CUT_SECONDS, BEFORE, TIMEOUT = 30.0, 80, 90.0
INSERTS_A_SECOND, MAILBOXES = 30.0, 6
LONGEST_SILENCE = 5.0
# By then what a host had sent before it was cut off is done: a mail is accepted, a claim is committed.
ON_ITS_WAY_SECONDS = 1.0
COMMANDS = ("worker", "mailbox", "clock")
SETTINGS = {
    **DEFAULTS,
    "SNOOZER_INSECURE_TRANSPORT": "allow",
    "SNOOZER_ALLOW_PRIVATE_MAILBOXES": "1",
    # The sink puts no reminder into the mailboxes, so none is to be sought there.
    "SNOOZER_UNCERTAIN_POLICY": "resend",
}
OWNED = "SELECT address FROM mailboxes WHERE owner LIKE %s"
HELD = "SELECT message_id FROM email_snoozes WHERE claimed_by LIKE %s"
CLAIMED = "SELECT 1 FROM storm_claims WHERE worker LIKE %s AND at > to_timestamp(%s) LIMIT 1"
ALIVE = "SELECT count(*) AS alive FROM workers WHERE state = 'alive'"
ASLEEP = """
SELECT 1 FROM messages JOIN email_snoozes USING (user_email, message_id)
WHERE user_email = %s AND message_id = %s AND place = 'snoozed' AND moving_to IS NULL AND NOT inactive
"""
MAKE_DUE = """
UPDATE email_snoozes SET remind_at = to_timestamp(%s), scheduled_for = NULL
WHERE user_email = %s AND message_id = %s AND NOT inactive
"""
LOOK, PAUSE = 0.1, 0.3


@pytest.fixture
def place(ground: Ground) -> Iterator[NetworkedPlace]:
    if tools := [*lacking(), *([] if dovecot.is_installed() else ["dovecot-imapd"])]:
        missing(", ".join(tools))
    with (
        Network().up() as network,
        tempfile.TemporaryDirectory(prefix="snoozer-hosts-") as name,
        database_reaper() as register,
    ):
        folder = Path(name)
        folder.chmod(0o711)
        with a_server(folder, network, on_launch=register) as server:
            yield NetworkedPlace(server=server, maternity=ground.maternity, network=network)


@dataclass(frozen=True)
class Turn:
    """A message of this person was put to sleep, or brought back: asked for, and done."""

    address: str
    asked: float
    done: float


class Correspondent(Thread):
    """A person whose mailbox is connected: one message after the other is put to sleep and becomes due."""

    def __init__(self, scene: Scene, number: int, *, server: Dovecot, place: NetworkedPlace) -> None:
        super().__init__(name=f"correspondent-{number}", daemon=True)
        self.address, self.user = f"user{number}@snoozer.example", f"user{number}"
        self.turns: list[Turn] = []
        self.sent = 0
        self.failure: BaseException | None = None
        self._scene, self._stopping = scene, Event()
        self._program = MailProgram(server.imap_port, self.user)
        self._connection = psycopg.connect(scene.database_url, autocommit=True)
        for folder in ("Snooze", "Snooze.Tomorrow"):
            self._program.create(folder)
        engine = make_engine(parse_url(scene.database_url), name="storm")
        with engine.begin() as connection:
            id = accounts.create(connection, email=self.address, role="user", zone="Europe/Berlin").id
        a_mailbox(
            engine,
            account_id=id,
            address=self.address,
            host=place.network.address,
            port=server.imap_port,
            security="plain",
            username=self.user,
            secret=encryption.encrypt([scene.environment["SECRET_KEY"]], PASSWORD),
            synced_at=None,
        )
        engine.dispose()

    def run(self) -> None:
        try:
            while not self._stopping.wait(PAUSE):
                self._snooze(f"<{self.user}-{self.sent}@hosts.example>")
        except BaseException as failure:
            self.failure = failure

    def stop(self) -> None:
        """Once the message that is on its way is back."""
        self._stopping.set()
        if self.ident is not None:
            self.join(TIMEOUT)
            assert not self.is_alive()
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        self._program.close()
        self._connection.close()

    def found(self) -> list[int]:
        """How many messages there are in each place, whatever is marked as deleted left out."""
        folders = ("Archive", "INBOX", "Snoozed", "Snooze.Tomorrow")
        return [len(self._program.shown(folder)) for folder in folders]

    def _snooze(self, message_id: str) -> None:
        self.sent += 1
        self._program.deliver(an_original(message_id=message_id))
        message = (self.address, message_id)
        asked = time.time()
        self._program.move("INBOX", "Snooze.Tomorrow")
        self._note(asked, lambda: self._connection.execute(ASLEEP, message).fetchone())
        due, named = round(time.time(), 6), {"user_email": self.address, "message_id": message_id, "wish": 0}
        self._scene.history.write("attempt", due=due, key=None, **named)
        assert self._connection.execute(MAKE_DUE, (due, *message)).rowcount == 1
        self._scene.history.write("ack", answer="done", **named)
        self._note(due, lambda: self._program.uids("INBOX"))
        self._program.move("INBOX", "Archive")

    def _note(self, asked: float, is_done: Any) -> None:
        assert until(is_done, seconds=TIMEOUT, look=LOOK), f"{self.user}: it does not come to pass"
        self.turns.append(Turn(self.address, asked, time.time()))


@dataclass
class Cut:
    """One host was off the network from `since` to `until`; what it `owned` and `held` when it was cut off."""

    host: Host
    since: float
    owned: set[str]
    held: set[str] = field(default_factory=set)
    until: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)


@pytest.mark.dovecot
def test_each_of_two_hosts_is_cut_off(stage: Stage, place: NetworkedPlace) -> None:
    began = time.time()
    with ExitStack() as stack:
        scene = stack.enter_context(place.scene(stage.folder, seed=stage.seed, rate=INSERTS_A_SECOND))
        mail_server = stack.enter_context(dovecot.running(also_at=place.network.address))
        people = [
            stack.enter_context(closing(Correspondent(scene, number, server=mail_server, place=place)))
            for number in range(MAILBOXES)
        ]
        hosts = [stack.enter_context(a_host(name, scene=scene, network=place.network)) for name in ("east", "west")]
        assert until(lambda: all(serves(scene, host) for host in hosts), seconds=TIMEOUT), words(hosts)
        scene.load.start()
        for person in people:
            person.start()
        cuts = [cut_off(scene, host) for host in hosts]
        wait_for_mails(scene, BEFORE)
        scene.load.stop()
        for person in people:
            person.stop()
        assert scene.drained(seconds=TIMEOUT), words(hosts)
        found = [person.found() for person in people]
        during = {host.name: dict(host.ended) for host in hosts}
        codes = {code for host in hosts for _, code in host.stop()}
        evidence = Evidence.gather(sink=scene.sink.path, log=scene.history.path, database_url=scene.database_url)
        scene.keep_evidence()
    verdict, arrived = judge(evidence), arrivals.sort(evidence.asked, evidence.mails)
    turns = [turn for person in people for turn in person.turns]
    for cut, following in zip(cuts, [*cuts[1:], None], strict=True):
        cut.facts |= waits(cut, arrived, turns, over=following.since if following else float("inf"))
        print(cut.host.name, cut.facts)
    strikes = {"hosts cut off": len(cuts), "workers declared dead": sum(sum(ends.values()) for ends in during.values())}
    seconds, facts = time.time() - began, [cut.facts for cut in cuts]
    stage.report.add(stage.name, strikes=strikes, seconds=seconds, verdict=verdict, cuts=facts)
    print(strikes, "messages put to sleep and brought back:", sum(person.sent for person in people), verdict)
    assert codes == {0}, words(hosts)
    assert all(set(ends) <= {("worker", DECLARED_DEAD)} for ends in during.values()), during
    assert verdict.keeps_the_promise, verdict
    assert verdict.cases == 0
    assert found == [[person.sent, 0, 0, 0] for person in people]
    assert unauthorised(evidence, arrived, hosts) == []
    for cut in cuts:
        assert cut.owned
        assert mails_from(evidence, cut.host, since=began, until=cut.since)
        assert not mails_from(evidence, cut.host, since=cut.since + ON_ITS_WAY_SECONDS, until=cut.until)
        assert cut.facts["longest"]["mail"] <= LONGEST_SILENCE
        assert cut.facts["longest"]["mailbox"] <= LONGEST_SILENCE
        assert cut.facts["longest"]["mailbox taken over"] <= LONGEST_SILENCE
    assert verdict.silence <= LONGEST_SILENCE


@contextmanager
def a_host(name: str, *, scene: Scene, network: Network) -> Iterator[Host]:
    """A host with a disk of its own, and the processes of the Procfile that work in the background."""
    home = scene.folder / name
    home.mkdir()
    with reaper() as register:
        host = Host(network, name, log=scene.folder / f"{name}.log", on_launch=lambda pid: register(CHILD, pid))
        try:
            host.start(COMMANDS, environment={**scene.environment, **SETTINGS, "SNOOZER_HOME": str(home)})
            yield host
        finally:
            host.stop(kill=True)


def cut_off(scene: Scene, host: Host) -> Cut:
    """Off the network for half a minute, and back until it works again and has its share of the mailboxes."""
    assert until(lambda: serves(scene, host), seconds=TIMEOUT)
    wait_for_mails(scene, BEFORE)
    name = f"{host.name}-%"
    host.cut()
    cut = Cut(host=host, since=time.time(), owned={row["address"] for row in scene.ask(OWNED, name)})
    time.sleep(ON_ITS_WAY_SECONDS)
    cut.held = {row["message_id"] for row in scene.ask(HELD, name)}
    assert until(lambda: not scene.ask(OWNED, name), seconds=CUT_SECONDS), "its mailboxes are left to it"
    taken = time.time()
    time.sleep(cut.since + CUT_SECONDS - taken)
    host.join()
    cut.until = time.time()
    assert until(lambda: bool(scene.ask(CLAIMED, name, cut.until)), seconds=TIMEOUT), words([host])
    works = time.time()
    assert until(lambda: serves(scene, host), seconds=TIMEOUT), words([host])
    cut.facts = {
        "held": len(cut.held),
        "owned": len(cut.owned),
        "mailboxes taken over after": round(taken - cut.since, 1),
        "claims again after": round(works - cut.until, 1),
        "has its share after": round(time.time() - cut.until, 1),
    }
    return cut


def serves(scene: Scene, host: Host) -> bool:
    """Whether its worker is alive, and it has its share of the mailboxes."""
    return scene.ask(ALIVE)[0]["alive"] == 2 and len(scene.ask(OWNED, f"{host.name}-%")) == MAILBOXES // 2


def waits(cut: Cut, arrived: Arrivals, turns: Sequence[Turn], *, over: float) -> dict[str, dict[str, float]]:
    """The longest waits that ended after the cut: from due to the mail, and from a wish to what became of it in the
    mailbox, or from the cut. Snoozes and mailboxes of the host that was cut off count apart."""
    found: dict[str, list[float]] = defaultdict(list)
    for (_, message_id, _), promise, mails in arrived.promises():
        if mails and cut.since <= mails[0].at < over:
            found["mail held" if message_id in cut.held else "mail"].append(mails[0].at - promise.due_since)
    for turn in turns:
        if cut.since <= turn.done < over:
            name = "mailbox taken over" if turn.address in cut.owned else "mailbox"
            found[name].append(turn.done - max(turn.asked, cut.since))
    return {"longest": {what: round(max(seconds), 2) for what, seconds in found.items()}}


def mails_from(evidence: Evidence, host: Host, *, since: float, until: float) -> int:
    return sum(mail.peer == host.address and since < mail.at < until for mail in evidence.mails)


def unauthorised(evidence: Evidence, arrived: Arrivals, hosts: Sequence[Host]) -> list[str]:
    """Mails that came from a host whose worker did not hold the snooze then, or before it became uncertain."""
    entries = {(entry.user_email, entry.message_id): entry for entry in evidence.entries}
    names = {host.address: host.name for host in hosts}
    claims: dict[int, list[Held]] = defaultdict(list)
    for claim in evidence.claims:
        claims[claim.snooze_id].append(claim)
    found = []
    for (user_email, message_id, _), mails in arrived.mails.items():
        entry = entries[user_email, message_id]
        for mail in mails:
            held = [claim.worker for claim in claims[entry.snooze_id] if claim.worker and claim.at < mail.read_at]
            holders = held if "uncertain" in entry.events else held[-1:]
            if not any(holder.startswith(f"{names[mail.peer or '']}-") for holder in holders):
                found.append(f"{message_id} from {mail.peer}: {held}")
    return found


def words(hosts: Sequence[Host]) -> str:
    """The last output of their processes."""
    return "\n".join(f"{host.name}: {host.log.read_text()[-3000:]}" for host in hosts)
