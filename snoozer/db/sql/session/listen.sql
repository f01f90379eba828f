-- Hear of rows that come in and are due within two seconds.
LISTEN snooze_due
