"""The contract of a row of `email_snoozes`: claims, the ledger of sends, the breaker, the archive."""
