"""ENTRANCE of the worker: tick() delivers one batch; run() goes on until told to stop."""
