"""Finds mail servers that are silent: an idle connection to a frozen server looks like one without news."""

from collections.abc import Iterable

from snoozer.mailboxes.sync.turn_queue import Watched

# After this silence a server is asked by a mailbox of it; and the time that it has to answer.
ASK_AFTER_SECONDS = 4.0
ANSWER_SECONDS = 6.0
# Turns in a second that only ask.
MAX_ASKED = 10


def to_ask(watched: Iterable[Watched], *, now: float) -> list[Watched]:
    """The longest unheard mailbox of each server that was not heard lately; none if a turn is running there."""
    candidates: dict[str, Watched] = {}
    busy: set[str] = set()
    heard: dict[str, float] = {}
    for one in watched:
        if one.busy or one.is_ready:
            busy.add(one.host)
        elif one.watch.is_open:
            at = one.watch.heard_at
            heard[one.host] = max(heard.get(one.host, at), at)
            known = candidates.get(one.host)
            if known is None or at < known.watch.heard_at:
                candidates[one.host] = one
    unheard = sorted((at, host) for host, at in heard.items() if host not in busy and at < now - ASK_AFTER_SECONDS)
    return [candidates[host] for _, host in unheard[:MAX_ASKED]]


def silent(running: Iterable[Watched], *, now: float) -> list[Watched]:
    """The mailboxes whose turns have waited too long for their server, each once in a turn."""
    return [
        one
        for one in running
        if not one.is_silent and (since := one.watch.waits_since) is not None and since < now - ANSWER_SECONDS
    ]
