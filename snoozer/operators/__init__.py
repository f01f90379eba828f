"""Operators' acts: decide cases, pause, change many rows, and cut over from another program."""
