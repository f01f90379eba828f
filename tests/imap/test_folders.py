"""Folders as servers list them, made and compared, whatever they are called and whatever the server can do."""

import re

import pytest

from snoozer.mailboxes.imap import Connection, ImapError
from snoozer.mailboxes.imap.folder_meanings import Folder, phrases, snooze_folders, snooze_root
from snoozer.mailboxes.imap.folders import raw
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import Mailbox, MailServer, a_message
from tests.imap.proxy import Proxy
from tests.imap.scripted_server import ScriptedImap

both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
WAYS = [(), ("LIST-STATUS",), ("SPECIAL-USE", "LIST-STATUS", "NAMESPACE", "LIST-EXTENDED")]


def by_last_level(connection: Connection) -> dict[str, Folder]:
    return {folder.levels[-1]: folder for folder in connection.folders()}


@both
@pytest.mark.parametrize("without", WAYS, ids=str)
def test_our_folders_are_made_once_and_subscribed(mailbox: Mailbox, without: tuple[str, ...]) -> None:
    labels = ["Tomorrow", "This evening", "明日", "Nächste Woche"]
    with mailbox.open(without=without) as connection:
        made = connection.create_folders(labels)
        assert made.left_out == ("明日",)
        assert connection.create_folders(labels) == made
        folders = connection.folders()
        assert [folder.name for folder in folders if folder.levels[-1] == "Snoozed"] == [made.snoozed]
        root = snooze_root(folders)
        assert root is not None
        assert root.name == made.root
        assert {folder.levels[-1] for folder in snooze_folders(folders)} == {
            "Tomorrow",
            "This evening",
            "Naechste Woche",
        }
    other = mailbox.other_program()
    subscribed = b" ".join(other.lsub()[1])
    other.logout()
    for name in (made.snoozed, made.root, "This evening"):
        assert name.encode() in subscribed


@both
def test_folders_that_a_person_made_are_left_as_they_are(mailbox: Mailbox) -> None:
    with mailbox.open() as connection:
        prefix = connection.create_folders([]).root.removesuffix("Snooze")
        other = mailbox.other_program()
        for old, new in ((f"{prefix}Snooze", f"{prefix}SNOOZE"), (f"{prefix}Snoozed", f"{prefix}snoozed")):
            assert other.rename(old, new)[0] == "OK"
        other.create(f"{prefix}SNOOZE.TOMORROW")
        other.logout()
        made = connection.create_folders(["Tomorrow"])
        assert (made.root, made.snoozed) == (f"{prefix}SNOOZE", f"{prefix}snoozed")
        assert [folder.levels[-1] for folder in snooze_folders(connection.folders())] == ["TOMORROW"]


@both
def test_special_uses_are_known_by_the_server_and_not_by_their_names(mailbox: Mailbox) -> None:
    with mailbox.open() as connection:
        folders = by_last_level(connection)
        uses = {level: set(folder.special_use) for level, folder in folders.items() if folder.special_use}
        assert uses == {name: {f"\\{name}"} for name in ("Archive", "Sent", "Trash", "Junk", "Drafts")}
    with mailbox.open(without=("SPECIAL-USE",)) as connection:
        assert not any(folder.special_use for folder in connection.folders())


@both
@pytest.mark.parametrize("name", ["fri 9.30", "Nächste Woche", "R&D", 'say "hi"', "2024", "007", "NIL", "a  b"])
def test_any_name_is_listed_selected_and_compared(mailbox: Mailbox, name: str) -> None:
    with mailbox.open() as connection:
        root = connection.create_folders([]).root
        other = mailbox.other_program()
        full = f"{root}.{raw(name)}"
        status, reply = other.create('"' + full.replace('"', '\\"') + '"')
        other.logout()
        if status != "OK":
            assert (mailbox.server.name, name) == ("cyrus", 'say "hi"'), reply
            return
        [folder] = [each for each in connection.folders() if each.name == full]
        assert ".".join(folder.levels).endswith(name)
        assert connection.append(full, a_message(1)) == 1
        assert connection.select(full).exists == 1
        for without in ((), ("LIST-STATUS",)):
            with mailbox.open(without=without) as another:
                assert another.statuses([full])[full].messages == 1


@both
def test_a_dotted_hour_is_read_from_its_levels(mailbox: Mailbox) -> None:
    with mailbox.open() as connection:
        root = connection.create_folders([]).root
        other = mailbox.other_program()
        assert other.create(f'"{root}.fri 9.30"')[0] == "OK"
        other.logout()
        [folder] = [each for each in connection.folders() if each.levels[-1] == "30"]
        assert folder.levels[-2:] == ("fri 9", "30")
        assert phrases(folder)[0] == "fri 9.30"


@pytest.mark.dovecot
def test_a_date_with_slashes_is_read_from_its_levels(slash_server: MailServer) -> None:
    mailbox = slash_server.mailbox()
    with mailbox.open() as connection:
        connection.create_folders([])
        other = mailbox.other_program()
        assert other.create("Snooze/24/12")[0] == "OK"
        other.logout()
        [folder] = [each for each in connection.folders() if each.levels[-1] == "12"]
        assert phrases(folder)[0] == "24/12"


@pytest.mark.dovecot
def test_the_servers_own_snoozed_folder_is_left_alone(slash_server: MailServer) -> None:
    def snooze_of_the_server(line: bytes) -> bytes:
        return re.sub(rb'^\* LIST \((.*)\) "/" Snoozed\r', rb'* LIST (\1 \\Snoozed) "/" Snoozed\r', line)

    mailbox = slash_server.mailbox()
    other = mailbox.other_program()
    other.create("Snoozed")
    other.logout()
    with (
        Proxy(mailbox.server.port, on_reply=snooze_of_the_server) as proxy,
        mailbox.open(port=proxy.port) as connection,
    ):
        assert connection.create_folders([]).snoozed == "Snoozed by Snoozer"
        assert by_last_level(connection)["Snoozed"].special_use == {r"\Snoozed"}


@both
@pytest.mark.parametrize("without", WAYS, ids=str)
def test_the_status_of_many_folders_is_that_of_each(mailbox: Mailbox, without: tuple[str, ...]) -> None:
    mailbox.fill("INBOX", [a_message(1), a_message(2)])
    with mailbox.open(without=without) as connection:
        labels = [f"in {number} days" for number in range(2, 14)]
        made = connection.create_folders(labels)
        connection.append(made.snoozed, a_message(3))
        names = [folder.name for folder in connection.folders() if folder.selectable]
        connection.select("INBOX")
        found = connection.statuses([*names, made.root + "x", "INBOX"])
        assert set(found) == set(names)
        assert len(names) > 16
        counts = {name: (status.messages, status.uidnext) for name, status in found.items() if status.messages}
        assert counts == {"INBOX": (2, 3), made.snoozed: (1, 2)}
        assert connection.selected == "INBOX"
        assert found[made.snoozed].uidvalidity == connection.select(made.snoozed).uidvalidity


@both
def test_status_is_never_asked_of_the_selected_folder(mailbox: Mailbox) -> None:
    mailbox.fill("INBOX", [a_message(1)])
    with (
        Proxy(mailbox.server.port) as proxy,
        mailbox.open(port=proxy.port, without=("LIST-STATUS",)) as connection,
    ):
        connection.select("INBOX")
        assert connection.statuses(["INBOX"])["INBOX"].messages == 1
        assert not [command for command in proxy.commands if b" STATUS " in command]


@both
def test_a_folder_that_is_not_there_is_named_so(mailbox: Mailbox) -> None:
    with mailbox.open() as connection:
        missing = connection.create_folders([]).snoozed + "x"
        with pytest.raises(ImapError) as error:
            connection.select(missing)
        assert error.value.code == "no_folder"
        with pytest.raises(ImapError) as error:
            connection.append(missing, a_message(1))
        assert error.value.code == "no_folder"
        assert connection.selected is None
        connection.check()


@pytest.mark.parametrize(
    ("namespaces", "listed", "kinds"),
    [
        (
            '(("INBOX." ".")) (("user." ".")) (("" "."))',
            ["INBOX", "INBOX.Snooze", "user.ben", "Announcements"],
            ["personal", "personal", "other", "shared"],
        ),
        ('(("" "/")) (("Other Users/" "/")) NIL', ["Snooze", "Other Users/ben/Snooze"], ["personal", "other"]),
        ("NIL NIL NIL", ["Snooze"], ["personal"]),
    ],
)
def test_the_namespace_separates_other_peoples_folders_from_ones_own(
    namespaces: str, listed: list[str], kinds: list[str]
) -> None:
    lines = "".join(f'* LIST () "{"." if "." in namespaces else "/"}" "{name}"\r\n' for name in listed)
    script = {
        "CAPABILITY": "* CAPABILITY IMAP4rev1 NAMESPACE\r\n{tag} OK done\r\n",
        "NAMESPACE": f"* NAMESPACE {namespaces}\r\n{{tag}} OK done\r\n",
        "LIST": lines + "{tag} OK done\r\n",
    }
    with ScriptedImap(script) as server, server.open() as connection:
        assert [folder.namespace for folder in connection.folders()] == kinds


def test_a_server_without_levels_cannot_have_our_folders() -> None:
    script = {
        "CAPABILITY": "* CAPABILITY IMAP4rev1\r\n{tag} OK done\r\n",
        "LIST": "* LIST () NIL INBOX\r\n{tag} OK done\r\n",
        "CREATE": "{tag} OK done\r\n",
        "SUBSCRIBE": "{tag} NO no subscriptions here\r\n",
    }
    with ScriptedImap(script) as server, server.open() as connection:
        with pytest.raises(ImapError) as error:
            connection.create_folders(["Tomorrow"])
        assert error.value.code == "denied"


def test_names_may_come_as_literals_and_in_no_known_alphabet() -> None:
    lines = '* LIST () "/" {12}\r\nSnooze/a "b"\r\n* LIST () "/" "&bad"\r\n* LIST () "/" "x&Jjo-"\r\n'
    script = {
        "CAPABILITY": "* CAPABILITY IMAP4rev1\r\n{tag} OK done\r\n",
        "LIST": lines + "{tag} OK done\r\n",
    }
    with ScriptedImap(script) as server, server.open() as connection:
        found = {folder.name: folder.levels for folder in connection.folders()}
        assert found['Snooze/a "b"'] == ("Snooze", 'a "b"')
        assert found["x&Jjo-"] == ("x☺",)
        assert "&bad" in found
