"""Snoozer puts a message away and brings it back: on time, once, and provably."""

__version__ = "1.0.0"
