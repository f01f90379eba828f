"""The form of a mailbox's options: which event brings messages back, and a flag that snoozes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from snoozer.db.mailboxes import Choices
from snoozer.mailboxes.imap.messages import FLAGGED
from snoozer.translations import gettext as _
from snoozer.web.forms import one_line
from snoozer.web.people.settings.presets import Pair

BRINGS_BACK = ("both", "return", "reminder")
FLAGS = ("off", "star", "keyword")
DEFAULT_KEYWORD = "$Snooze"
# The phrases of the preset for tomorrow, in each language.
TOMORROW = frozenset({"tomorrow", "morgen"})
_KEYWORD = re.compile(r"[$A-Za-z0-9_-]{1,60}")
# Mail programs set these by themselves (the IANA registry of keywords, and older ones).
_TAKEN = re.compile(
    r"\$?(forwarded|mdnsent|junk|notjunk|nonjunk|phishing|submitted|submitpending|(has|hasno)?attachment|autosent|"
    r"canunsubscribe|followed|hasmemo|hasnote|imported|istrusted|maskedemail|memo|muted|new|notify|unsubscribed)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class ChoicesForm:
    """The chosen fields, and a sentence for each invalid one."""

    brings_back: str = "both"
    reads_asleep: bool = False
    flag: str = "off"
    keyword: str = DEFAULT_KEYWORD
    flag_time: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Any, presets: Sequence[Pair]) -> Self:
        """The form with the mailbox's current options."""
        flag = "off" if row.snooze_flag is None else "star" if row.snooze_flag == FLAGGED else "keyword"
        keyword = row.snooze_flag if flag == "keyword" else DEFAULT_KEYWORD
        time = row.snooze_flag_time or next((label for label, phrase in presets if phrase in TOMORROW), presets[0][0])
        back, reads = row.brings_back, row.reads_asleep
        return cls(brings_back=back, reads_asleep=reads, flag=flag, keyword=keyword, flag_time=time)

    @classmethod
    def read(cls, posted: Mapping[str, str], *, times: Sequence[str]) -> Self:
        """The fields of a posted form, each checked; `times` are the allowed ones."""
        form = cls(
            brings_back=posted.get("brings_back", ""),
            reads_asleep=posted.get("reads_asleep") == "on",
            flag=posted.get("flag", ""),
            keyword=one_line(posted.get("keyword"), max_length=100) or "",
            flag_time=posted.get("flag_time", ""),
        )
        return replace(form, errors=dict(_errors(form, times)))

    @property
    def choices(self) -> Choices:
        """The options of a form without errors."""
        choices = Choices(brings_back=self.brings_back, reads_asleep=self.reads_asleep)
        if self.flag == "off":
            return choices
        flag = FLAGGED if self.flag == "star" else self.keyword
        return replace(choices, snooze_flag=flag, snooze_flag_time=self.flag_time)


def _errors(form: ChoicesForm, times: Sequence[str]) -> list[tuple[str, str]]:
    errors = []
    if form.brings_back not in BRINGS_BACK:
        errors.append(("brings_back", _("Choose one of the three.")))
    if form.flag not in FLAGS:
        errors.append(("flag", _("Choose one of the three.")))
    if form.flag == "keyword" and not _KEYWORD.fullmatch(form.keyword):
        errors.append(
            ("keyword", _("A keyword has letters, digits, $, - and _, and at most 60 of them: $Snooze is one."))
        )
    if form.flag == "keyword" and _TAKEN.fullmatch(form.keyword):
        errors.append(
            ("keyword", _("Mail programs set this keyword by themselves. Choose another one, such as $Snooze."))
        )
    if form.flag in FLAGS[1:] and form.flag_time not in times:
        errors.append(("flag_time", _("Choose one of your times.")))
    return errors
