"""Snoozer puts a message away and brings it back: on time, once, and provably."""

__version__ = "0.1.0"
