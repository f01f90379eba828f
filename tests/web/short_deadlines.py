"""The product's worker with short deadlines: `--worker-class tests.web.short_deadlines.Worker`."""

from snoozer.web import server
from snoozer.web.front import Capacity
from snoozer.web.server import Deadlines


class Worker(server.Worker):
    deadlines = Deadlines(head=1, response=1, refused=1)
    capacity = Capacity(grace_seconds=1)
