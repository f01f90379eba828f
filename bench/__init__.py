"""The comparison with other queues on PostgreSQL: scripts for who develops Snoozer, no part of what is installed."""
