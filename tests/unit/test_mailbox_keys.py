"""Names of folders and messages as they come back in URLs."""

from base64 import urlsafe_b64encode

import pytest

from snoozer.mailboxes.read.keys import MAX_NAME_LENGTH, MessageKey, folder_key, folder_name
from snoozer.mailboxes.read.mailbox import MailboxError


@pytest.mark.parametrize("name", ["INBOX", "a/b", "&AOQ-", 'with "quotes" and \\', "ä"])
def test_a_key_is_fit_for_a_url_and_comes_back(name: str) -> None:
    assert folder_key(name).replace("-", "").replace("_", "").isalnum()
    assert MessageKey.parse(str(MessageKey(name, 7, 4_294_967_295))) == (name, 7, 4_294_967_295)


@pytest.mark.parametrize("name", [b"", b"a\0b", b"\xff\xfe", b"\xed\xa0\x80", b"x" * (MAX_NAME_LENGTH + 1)])
def test_what_is_no_name_of_a_folder_is_refused(name: bytes) -> None:
    with pytest.raises(MailboxError) as raised:
        folder_name(urlsafe_b64encode(name).decode().rstrip("="))
    assert raised.value.code == "no_folder"


@pytest.mark.parametrize(
    "key", ["", "x", "SU5CT1g.0.1", "SU5CT1g.1", "SU5CT1g.1.1.1", "../x.1.1", "ä.1.1", "SU5CT1g.1.1\n"]
)
def test_what_is_no_key_of_a_message_is_gone(key: str) -> None:
    with pytest.raises(MailboxError) as raised:
        MessageKey.parse(key)
    assert raised.value.code == "gone"
