-- Hear of rows that come in and are due before the next poll.
LISTEN snooze_due
