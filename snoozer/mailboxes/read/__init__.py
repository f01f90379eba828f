"""Reading a mailbox: lists, search, one message, and a person's acts on it.

`mailbox.Mailbox` is the interface: `kept.KeptMailbox` is the mailbox that Snoozer keeps, and
`connected.ConnectedMailbox` a mailbox at its owner's server.
"""
