"""USE CASE of the worker: claim and reserve (taking) → send (courier) → record & finalize, or release (settling)."""

from snoozer.reminding.concluding import write_inherited_facts
from snoozer.reminding.courier import Courier
from snoozer.reminding.lanes import Lanes
from snoozer.reminding.settling import Settlement
from snoozer.reminding.taking import Delivery, Terms, take

__all__ = ["Courier", "Delivery", "Lanes", "Settlement", "Terms", "take", "write_inherited_facts"]
