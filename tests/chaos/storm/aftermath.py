"""What becomes of mail after the database failed over: do workers wait, and when does the first mail leave?"""

from tests.chaos.storm import history
from tests.chaos.storm.fleet import Fleet, until
from tests.chaos.storm.ground import Scene
from tests.chaos.storm.stage import Act

TIMEOUT = 60.0
WAITING = "nothing is claimed until `snoozer restored`"
CLAIMED = """
SELECT snooze.message_id FROM storm_claims AS claim JOIN email_snoozes AS snooze ON snooze.id = claim.snooze_id
WHERE claim.worker IS NOT NULL AND claim.at > to_timestamp(%s)
"""
CLAIMS_SINCE = "SELECT count(*) AS claims FROM storm_claims WHERE worker IS NOT NULL AND at > to_timestamp(%s)"


def ended(act: Act) -> str:
    """How processes ended, and their last output; a failed test prints it."""
    words = act.scene.log.read_text()[-4000:] if act.scene.log.exists() else ""
    return f"a process was restarted: {dict(act.fleet.ended)}\n{words}"


def restored(scene: Scene, *arguments: str) -> list[str]:
    done = scene.run("restored", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def all_workers_wait(scene: Scene, fleet: Fleet) -> None:
    """Return when each worker has noticed the other timeline."""
    assert until(lambda: scene.log.read_text().count(WAITING) >= len(fleet.workers), seconds=TIMEOUT)


def wait_for_mails(scene: Scene, count: int) -> None:
    """So many more mails are accepted."""
    before = scene.sink.order()["accepted"]
    assert until(lambda: scene.sink.order()["accepted"] >= before + count, seconds=TIMEOUT)


def seconds_to_a_mail(scene: Scene, *, since: float) -> float:
    """How long it took until a mail was accepted whose snooze was claimed after this moment."""

    def mailed() -> list[float]:
        claimed = {row["message_id"] for row in scene.ask(CLAIMED, since)}
        mails = history.read(scene.sink.path)
        return [mail["at"] for mail in mails if mail["at"] > since and mail["in_reply_to"] in claimed]

    assert until(lambda: bool(mailed()), seconds=TIMEOUT)
    return round(min(mailed()) - since, 2)
