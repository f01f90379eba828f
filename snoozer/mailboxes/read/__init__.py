"""Reading a mailbox, wherever it is: lists, search, one message, and what a person does to it.

`mailbox.Mailbox` is the interface: `kept.KeptMailbox` is the one that Snoozer keeps, and `connected.ConnectedMailbox`
one at a server of its owner's.
"""
