-- Plans that this session keeps are made anew at their next use, for the tables as they are by then.
DISCARD PLANS
