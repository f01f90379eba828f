"""A person's own mailbox at a mail server that speaks IMAP.

`open` connects and logs in; a `Connection` lists folders, reads heads, moves messages and proves it, and waits by IDLE.
What names of folders mean is in `folder_names`. Everything raises ImapError.
"""

from snoozer.imap.connection import Connection, Login, Server, open
from snoozer.imap.errors import ImapError
from snoozer.imap.folder_names import Folder
from snoozer.imap.folders import OurFolders, Selected, Status
from snoozer.imap.idle import Event
from snoozer.imap.messages import Fingerprint, Head
from snoozer.imap.move import Arrival, Place
