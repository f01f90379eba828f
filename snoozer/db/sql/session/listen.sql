-- Subscribe to notifications of new rows that are due within two seconds.
LISTEN snooze_due
