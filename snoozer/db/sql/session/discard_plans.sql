-- Replan this session's prepared statements at their next use, for the tables as they are by then.
DISCARD PLANS
