"""Snoozer compared with its baseline and with other queues: the contestants, the measurements, and the ratios."""
