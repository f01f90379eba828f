"""How fast and how punctual this machine is: Snoozer, its baseline and its peers. Not part of the installed package.

Every run is on loopback and brings a scratch database and a mail server of its own.
"""
