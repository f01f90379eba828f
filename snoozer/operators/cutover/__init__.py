"""Cutting over from another scheduler: its jobs are read, imported, and compared with its real sends."""
