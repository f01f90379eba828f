"""ENTRANCE of `snoozer bench`: how fast this machine drains, measured beside the floor in the same minutes.

Everything runs on loopback: a scratch database, a mail server of its own, real workers.
"""
