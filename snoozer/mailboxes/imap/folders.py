"""Folders of a mailbox: listed with the server's namespaces and separators, selected, compared, created."""

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from imapclient.imap_utf7 import decode, encode

from snoozer.mailboxes.imap.errors import ImapError, response_codes
from snoozer.mailboxes.imap.folder_meanings import (
    ROOT,
    Folder,
    Namespace,
    label_as_name,
    same_meaning,
    snooze_root,
    snoozed_folder,
    snoozed_label,
)
from snoozer.mailboxes.imap.messages import word
from snoozer.mailboxes.imap.session import MAX_NUMBER, Reply, Session, quoted, reading

ARCHIVE = "Archive"
# If the server has no LIST-STATUS, how many STATUS commands to send at once.
MAX_IN_A_ROW = 8
_MAX_PATTERNS = 40
# Ignore more folders or longer names than this; no person has them.
MAX_FOLDERS = 20_000
MAX_PREFIXES = 100
MAX_NAME_LENGTH = 1_000
MAX_LEVELS = 50
_STATUS_ITEMS = b"(MESSAGES UIDNEXT UIDVALIDITY)"
_NAMESPACES: tuple[Namespace, ...] = ("personal", "other", "shared")
# The marks say whether the server found new messages; they come and go by themselves.
_MARKS = re.compile(r"\\\\(?:un)?marked ?", re.IGNORECASE)
_UNSELECTABLE = {"\\noselect", "\\nonexistent"}
# In one spelling: some servers write them in lower case.
_SPECIAL_USES = {
    f"\\{use.lower()}": f"\\{use}"
    for use in ("All", "Archive", "Drafts", "Flagged", "Important", "Junk", "Sent", "Snoozed", "Trash")
}


@dataclass(frozen=True)
class Selected:
    """`uidnext` is 0 if not reported. `lasting` are the flags that stay, in lower case; None if not reported."""

    uidvalidity: int
    uidnext: int
    exists: int
    lasting: frozenset[str] | None

    @property
    def can_delete(self) -> bool:
        return self.lasting is None or "\\deleted" in self.lasting

    def keeps(self, keyword: str) -> bool:
        """Whether a keyword stays on messages; also true if the server does not say."""
        return self.lasting is None or bool(self.lasting & {"\\*", keyword.lower()})


@dataclass(frozen=True)
class Status:
    """The state of a folder: it differs after any change of its messages except of their flags."""

    uidvalidity: int
    uidnext: int
    messages: int


@dataclass(frozen=True)
class Count:
    """How many messages a folder has, and how many of them are unread."""

    total: int
    unread: int


@dataclass(frozen=True)
class OurFolders:
    """Raw names. `left_out` are labels that cannot be the name of a folder."""

    snoozed: str
    root: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Prefix:
    text: str
    delimiter: str | None
    namespace: Namespace


def list_folders(session: Session) -> list[Folder]:
    """Every folder that the server shows, in its order."""
    prefixes = _prefixes(session)
    reply = _list(session)
    if not reply.ok:
        raise ImapError.from_reply("refused to list folders", reply.text)
    rows = [row for row in reply.parsed("LIST") if len(row) >= 3]
    if len(rows) > MAX_FOLDERS:
        raise ImapError("protocol", f"The mail server lists more than {MAX_FOLDERS} folders.")
    with reading():
        folders = [_folder(row, prefixes, session=session) for row in rows if _is_usable(row)]
    return list({folder.name: folder for folder in folders}.values())


def select(session: Session, name: str, *, command: Literal["SELECT", "EXAMINE"] = "SELECT") -> Selected:
    """Opens a folder, by EXAMINE for reading only. Raises ImapError (`no_folder`, `denied`)."""
    reply = session.run(command, quoted(name))
    if not reply.ok:
        raise _no_folder(reply, "refused to open a folder")
    validity = _number(reply.untagged.get("UIDVALIDITY"))
    if not 0 < validity <= MAX_NUMBER:
        raise ImapError("protocol", "The mail server gives messages no lasting numbers (UIDVALIDITY).")
    return Selected(
        uidvalidity=validity,
        uidnext=_number(reply.untagged.get("UIDNEXT")),
        exists=_number(reply.untagged.get("EXISTS")),
        lasting=_lasting(reply),
    )


def statuses(session: Session, names: Collection[str]) -> dict[str, Status]:
    """The statuses of existing folders. Without LIST-STATUS, none of them may be the selected folder."""
    listable = [name for name in names if can_list_status(session) and not set(name) & set("*%")]
    found: dict[str, Status] = {}
    for start in range(0, len(listable), _MAX_PATTERNS):
        found |= _listed_statuses(session, listable[start : start + _MAX_PATTERNS])
    others = [name for name in names if name not in set(listable)]
    for start in range(0, len(others), MAX_IN_A_ROW):
        found |= _asked_statuses(session, others[start : start + MAX_IN_A_ROW])
    return {name: found[name] for name in names if name in found}


def statuses_below(session: Session, prefixes: Collection[str]) -> dict[str, Status]:
    """The statuses of all folders whose names begin so. Nothing if the server has no LIST-STATUS."""
    if not can_list_status(session) or set("".join(prefixes)) & set("*%"):
        return {}
    return _listed_statuses(session, [f"{prefix}*" for prefix in prefixes])


def digest(session: Session, names: Collection[str], *, below: Collection[str]) -> Hashable | None:
    """Return the server's own words about these folders and all below those prefixes, unparsed, to compare with later
    ones. None if one command cannot report it, or the server refuses."""
    if not can_list_status(session) or set("".join([*names, *below])) & set("*%"):
        return None
    patterns = b" ".join(quoted(name) for name in [*names, *(f"{prefix}*" for prefix in below)])
    reply = session.run("LIST", b'""', b"(" + patterns + b")", b"RETURN", b"(STATUS " + _STATUS_ITEMS + b")")
    if not reply.ok:
        return None
    marked = [each for each in reply.untagged.get("FETCH", []) if "deleted" in repr(each).lower()]
    listed = [_MARKS.sub("", repr(each)) for each in reply.untagged.get("LIST", [])]
    values = [reply.untagged.get(name, []) for name in ("STATUS", "EXPUNGE", "VANISHED")]
    return tuple(tuple(each) for each in [listed, *values, marked])


def report_changes(session: Session, names: Collection[str], *, below: Collection[str]) -> None:
    """Ask the server to report messages that enter or leave these folders, and all folders at and below the others,
    during IDLE (NOTIFY, RFC 5465). Do nothing if the server cannot, or refuses."""
    if session.has_capability("NOTIFY"):
        groups = [b"(SELECTED-DELAYED (MessageNew MessageExpunge FlagChange))"]
        if names:
            groups.append(b"(MAILBOXES (%s) (MessageNew MessageExpunge))" % b" ".join(map(quoted, names)))
        if below:
            groups.append(b"(SUBTREE (%s) (MessageNew MessageExpunge MailboxName))" % b" ".join(map(quoted, below)))
        session.run("NOTIFY", b"SET", *groups)


def can_list_status(session: Session) -> bool:
    """Whether one LIST reports the statuses of many folders (RFC 5819)."""
    return bool(session.has_capability("LIST-STATUS"))


def counts(session: Session, names: Collection[str], *, selected: str | None) -> dict[str, Count]:
    """The counts of folders. Without LIST-STATUS, only of a few dozen and not of the selected one."""
    if can_list_status(session):
        reply = session.run("LIST", b'""', b'"*"', b"RETURN", b"(STATUS (MESSAGES UNSEEN))")
        return _read_counts(reply) if reply.ok else {}
    asked = [name for name in names if name != selected][:_MAX_PATTERNS]
    found: dict[str, Count] = {}
    for start in range(0, len(asked), MAX_IN_A_ROW):
        batch = asked[start : start + MAX_IN_A_ROW]
        found |= _read_counts(session.run_in_a_row([("STATUS", quoted(n), b"(MESSAGES UNSEEN)") for n in batch])[-1])
    return found


def create_archive(session: Session, folders: Sequence[Folder]) -> str:
    """Makes and subscribes a folder `Archive`; returns its name. Raises ImapError."""
    prefix, delimiter = _place_for_new(folders, _prefixes(session))
    return _create_top(session, prefix, ARCHIVE, delimiter)


def create_folders(session: Session, labels: Iterable[str]) -> OurFolders:
    """Create what is missing of `Snoozed`, `Snooze` and a folder for each label below it, and subscribe the new
    folders.

    Labels are written by `label_as_name`. A folder with the same meaning is left as it is. Raises ImapError.
    """
    folders = list_folders(session)
    prefix, delimiter = _place_for_new(folders, _prefixes(session))
    snoozed, root = snoozed_folder(folders), snooze_root(folders)
    snoozed_name = snoozed.name if snoozed else _create_top(session, prefix, snoozed_label(folders), delimiter)
    if delimiter is None:
        raise ImapError("denied", "The mail server has no folders within folders.")
    root_name = root.name if root else _create_top(session, prefix, ROOT, delimiter)
    present = [folder.levels[-1] for folder in folders if root and folder.levels[:-1] == root.levels]
    left_out = []
    for label in labels:
        name = label_as_name(label, delimiter=delimiter)
        if name is None:
            left_out.append(label)
        elif not any(same_meaning(name, other) for other in present):
            _create(session, root_name + delimiter + raw(name))
            present.append(name)
    return OurFolders(snoozed=snoozed_name, root=root_name, left_out=tuple(left_out))


def raw(name: str) -> str:
    """A decoded level as servers keep it (modified UTF-7, RFC 3501 §5.1.3)."""
    return bytes(encode(name)).decode("ascii")


def _list(session: Session) -> Reply:
    if session.has_capability("SPECIAL-USE") and session.has_capability("LIST-EXTENDED"):
        reply = session.run("LIST", b'""', b'"*"', b"RETURN", b"(SPECIAL-USE)")
        if reply.ok:
            return reply
    return session.run("LIST", b'""', b'"*"')


def _is_usable(row: Sequence[Any]) -> bool:
    """Whether a folder has a name that a mail program could have given it and that can be encoded."""
    name, delimiter = word(row[2]), _optional(row[1])
    if not 0 < len(name) <= MAX_NAME_LENGTH or (delimiter and name.count(delimiter) >= MAX_LEVELS):
        return False
    return not any(ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 for sign in name)


def _folder(row: Sequence[Any], prefixes: Sequence[_Prefix], *, session: Session) -> Folder:
    attributes, separator, raw_name = row[:3]
    name = word(raw_name)
    delimiter = word(separator) if separator is not None else None
    flags = {word(each).lower() for each in attributes or ()}
    uses = set() if session.masks("SPECIAL-USE") else {_SPECIAL_USES[flag] for flag in flags & _SPECIAL_USES.keys()}
    return Folder(
        name=name,
        levels=tuple(_decoded(level) for level in (name.split(delimiter) if delimiter else [name])),
        delimiter=delimiter,
        selectable=not flags & _UNSELECTABLE,
        special_use=frozenset(uses),
        namespace=_namespace_of(name, prefixes),
    )


def _decoded(level: str) -> str:
    try:
        return str(decode(level.encode("ascii")))
    except (UnicodeError, ValueError):
        return level


def _namespace_of(name: str, prefixes: Sequence[_Prefix]) -> Namespace:
    """The namespace of the longest matching prefix: a shared one may have no prefix, and own everything else."""
    if name.upper() == "INBOX":
        return "personal"
    fitting = [each for each in prefixes if name.startswith(each.text) or name + (each.delimiter or "") == each.text]
    longest = max(fitting, key=lambda each: (len(each.text), each.namespace == "personal"), default=None)
    return longest.namespace if longest else "personal"


def _prefixes(session: Session) -> list[_Prefix]:
    """The prefixes of the server's namespaces; an empty personal one if it reports none."""
    found = list(_namespaces(session)) if session.has_capability("NAMESPACE") else []
    if len(found) > MAX_PREFIXES:
        # Each folder's name is compared with each prefix.
        raise ImapError("protocol", f"The mail server names more than {MAX_PREFIXES} namespaces.")
    if not any(each.namespace == "personal" for each in found):
        found.append(_Prefix(text="", delimiter=_hierarchy_delimiter(session), namespace="personal"))
    return found


def _namespaces(session: Session) -> Iterator[_Prefix]:
    reply = session.run("NAMESPACE")
    for row in reply.parsed("NAMESPACE") if reply.ok else ():
        for kind, members in zip(_NAMESPACES, row, strict=False):
            with reading():
                found = [(word(member[0]), member[1]) for member in members or ()]
            for text, delimiter in found:
                if len(text) <= MAX_NAME_LENGTH:
                    yield _Prefix(text=text, delimiter=_optional(delimiter), namespace=kind)


def _optional(atom: object) -> str | None:
    return None if atom is None else word(atom)


def _hierarchy_delimiter(session: Session) -> str | None:
    reply = session.run("LIST", b'""', b'""')
    rows = list(reply.parsed("LIST")) if reply.ok else []
    return word(rows[0][1]) if rows and len(rows[0]) >= 2 and rows[0][1] is not None else None


def _place_for_new(folders: Sequence[Folder], prefixes: Sequence[_Prefix]) -> tuple[str, str | None]:
    """The prefix of a new folder at the top, and the separator."""
    personal = next(each for each in prefixes if each.namespace == "personal")
    tops = {folder.name.lower(): folder for folder in folders if len(folder.levels) == 1}
    if not personal.text and {"folders", "labels"} <= tops.keys() and not tops["folders"].selectable:
        # Proton's bridge creates folders below this one only.
        return tops["folders"].name + (personal.delimiter or "/"), personal.delimiter
    return personal.text, personal.delimiter


def _create_top(session: Session, prefix: str, label: str, delimiter: str | None) -> str:
    """Create folders below INBOX if the server allows none at its top and does not say so by NAMESPACE."""
    try:
        return _create(session, prefix + raw(label))
    except ImapError as error:
        if prefix or delimiter is None or error.code not in ("denied", "no_folder", "protocol"):
            raise
        return _create(session, f"INBOX{delimiter}{raw(label)}")


def _create(session: Session, name: str) -> str:
    reply = session.run("CREATE", quoted(name))
    if not reply.ok and "ALREADYEXISTS" not in response_codes(reply.text):
        raise ImapError.from_reply("refused to make a folder", reply.text)
    # A server without subscriptions may refuse: programs then show every folder.
    session.run("SUBSCRIBE", quoted(name))
    return name


def _listed_statuses(session: Session, names: Sequence[str]) -> dict[str, Status]:
    patterns = b"(" + b" ".join(quoted(name) for name in names) + b")"
    reply = session.run("LIST", b'""', patterns, b"RETURN", b"(STATUS " + _STATUS_ITEMS + b")")
    if not reply.ok:
        raise ImapError.from_reply("refused to list folders", reply.text)
    return _read_statuses(reply)


def _asked_statuses(session: Session, names: Sequence[str]) -> dict[str, Status]:
    replies = session.run_in_a_row([("STATUS", quoted(name), _STATUS_ITEMS) for name in names])
    for reply in replies:
        error = None if reply.ok else _no_folder(reply, "refused to say what a folder holds")
        if error is not None and error.code != "no_folder":
            raise error
    return _read_statuses(replies[-1]) if replies else {}


def _read_statuses(reply: Reply) -> dict[str, Status]:
    found = {}
    for row in reply.parsed("STATUS"):
        if len(row) == 2 and isinstance(row[1], tuple):
            values = {word(name).upper(): value for name, value in zip(row[1][::2], row[1][1::2], strict=False)}
            uidvalidity = values.get("UIDVALIDITY")
            if isinstance(uidvalidity, int) and 0 < uidvalidity <= MAX_NUMBER:
                found[word(row[0])] = Status(
                    uidvalidity=uidvalidity,
                    uidnext=_counted(values.get("UIDNEXT")),
                    messages=_counted(values.get("MESSAGES")),
                )
    return found


def _read_counts(reply: Reply) -> dict[str, Count]:
    found = {}
    for row in reply.parsed("STATUS"):
        if len(row) == 2 and isinstance(row[1], tuple):
            values = {word(name).upper(): value for name, value in zip(row[1][::2], row[1][1::2], strict=False)}
            found[word(row[0])] = Count(_counted(values.get("MESSAGES")), _counted(values.get("UNSEEN")))
    return found


def _counted(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= MAX_NUMBER + 1 else 0


def _no_folder(reply: Reply, did: str) -> ImapError:
    """A NO to a folder's name means that it is not there, unless the server gives another reason."""
    error = ImapError.from_reply(did, reply.text)
    if error.code == "protocol":
        return ImapError("no_folder", "The mail server has no such folder.")
    return error


def _lasting(reply: Reply) -> frozenset[str] | None:
    if "READ-ONLY" in reply.untagged:
        return frozenset()
    flags = reply.untagged.get("PERMANENTFLAGS")
    return frozenset(bytes(flags[-1]).decode("ascii", "replace").lower().strip("() ").split()) if flags else None


def _number(values: list[Any] | None) -> int:
    try:
        number = int(values[-1]) if values else 0
    except (TypeError, ValueError):
        return 0
    return number if 0 <= number <= MAX_NUMBER + 1 else 0
