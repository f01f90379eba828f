"""Pages of the mailboxes: their messages, and how they are connected."""
