"""The messages that Snoozer keeps, and the IMAP mailboxes that people connect."""
