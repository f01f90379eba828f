"""Other job queues on PostgreSQL, installed in bench/.venv. Their workers import neither Snoozer nor its dependencies,
except where a job composes a mail."""
