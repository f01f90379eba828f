"""The result of an act on many messages, as sentences."""

from collections.abc import Callable, Mapping

from snoozer.queue.limits import MAX_CHOSEN
from snoozer.snoozes.bulk import Name, Reason, Summary, Undone
from snoozer.translations import gettext as _
from snoozer.translations import ngettext
from snoozer.web.text.time_format import TimeFormatter

_DONE: dict[Name, Callable[[int, str], str]] = {
    "snooze": lambda count, until: ngettext(
        "1 message is asleep until %(until)s.", "%(num)s messages are asleep until %(until)s.", count, until=until
    ),
    "wake": lambda count, _until: ngettext("1 message comes back now.", "%(num)s messages come back now.", count),
    "cancel": lambda count, _until: ngettext("1 snooze was cancelled.", "%(num)s snoozes were cancelled.", count),
    "done": lambda count, _until: ngettext("1 message is done.", "%(num)s messages are done.", count),
    "to_inbox": lambda count, _until: ngettext(
        "1 message is in your inbox.", "%(num)s messages are in your inbox.", count
    ),
    "bring_home": lambda count, _until: ngettext(
        "1 message goes to your inbox.", "%(num)s messages go to your inbox.", count
    ),
    "give_back": lambda count, _until: ngettext(
        "1 message goes back to where it was.", "%(num)s messages go back to where they were.", count
    ),
}
_REASONS: dict[Reason, Callable[[int], str]] = {
    "came_back": lambda count: ngettext("1 came back meanwhile", "%(num)s came back meanwhile", count),
    "due": lambda count: ngettext("1 is due already", "%(num)s are due already", count),
    "cancelled": lambda count: ngettext("1 was cancelled already", "%(num)s were cancelled already", count),
    "stuck": lambda count: ngettext("1 could not be delivered", "%(num)s could not be delivered", count),
    "paused": lambda count: ngettext("1 is paused", "%(num)s are paused", count),
    "snoozed": lambda count: ngettext("1 was snoozed meanwhile", "%(num)s were snoozed meanwhile", count),
    "changed": lambda count: ngettext("1 has changed meanwhile", "%(num)s have changed meanwhile", count),
    "gone": lambda count: ngettext("1 is not there any more", "%(num)s are not there any more", count),
}


def result_text(result: Summary, times: TimeFormatter) -> str:
    """Returns the numbers of changed and unchanged messages, the reasons, and whether only the first of more were
    taken."""
    until = times.inline(result.until) if result.until is not None else ""
    sentences = [_DONE[result.act](result.done, until)] if result.done else []
    if result.older:
        words = ngettext("1 older message leaves with them.", "%(num)s older messages leave with them.", result.older)
        sentences.append(words)
    if result.ended:
        sentences.append(ngettext("1 repetition ended.", "%(num)s repetitions ended.", result.ended))
    if result.may_arrive:
        sentences.append(_("A reminder that was on its way already may still arrive."))
    why = _reasons(result.left)
    if result.left and result.done:
        left = sum(result.left.values())
        words = ngettext("1 was not changed: %(why)s.", "%(num)s were not changed: %(why)s.", left, why=why)
        sentences.append(words)
    elif result.left:
        sentences.append(_("Nothing was changed: %(why)s.", why=why))
    if result.more:
        most = str(MAX_CHOSEN)
        sentences.append(_("There were more than %(most)s, so only the first %(most)s were taken.", most=most))
    return " ".join(sentences) or _("Nothing was changed.")


def undone_text(undone: Undone | None) -> str:
    """Returns how many were undone, whether a copy may still arrive, and how many were not undone and why; None is an
    act that can no longer be undone."""
    sentences = []
    if undone is not None and undone.done:
        words = ngettext("1 message is as it was.", "%(num)s messages are as they were.", undone.done)
        sentences.append(words)
    if undone is not None and undone.may_arrive:
        sentences.append(_("A reminder that was on its way already may still arrive."))
    if undone is not None and undone.left:
        left, why = sum(undone.left.values()), _reasons(undone.left)
        words = ngettext("1 could not be undone: %(why)s.", "%(num)s could not be undone: %(why)s.", left, why=why)
        sentences.append(words)
    return " ".join(sentences) or _("There is nothing to undo any more.")


def _reasons(left: Mapping[Reason, int]) -> str:
    return ", ".join(_REASONS[reason](count) for reason, count in left.items())
