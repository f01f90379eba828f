"""A person's own mailbox at a mail server that speaks IMAP.

`open` connects and logs in; a `Connection` lists folders, reads heads, moves messages and proves it, and waits by IDLE.
`folder_meanings` interprets the names of folders. Everything raises ImapError.
"""

from snoozer.mailboxes.imap.connection import Connection, Login, Server, open
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.imap.folders import OurFolders, Selected, Status
from snoozer.mailboxes.imap.idle import Event
from snoozer.mailboxes.imap.messages import Fingerprint, Head
from snoozer.mailboxes.imap.move import Arrival, Place
