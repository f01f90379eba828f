"""Snoozer beside its baseline and beside other queues: who takes part, what is measured, and the ratios."""
