"""Push messages, webhooks and feeds."""
