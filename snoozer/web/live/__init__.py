"""Open lists learn that something in them changed, by a stream of events or by asking."""
