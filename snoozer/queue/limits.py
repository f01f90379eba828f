"""The limits of a snooze: how often and how long it is tried, and how much a person or program may ask for."""

from datetime import timedelta

# Failed deliveries until a row becomes a case: by default, at most by the API, and at most by an operator.
DEFAULT_MAX_ATTEMPTS = 5
MAX_ATTEMPTS = 20
MAX_ATTEMPTS_BY_OPERATOR = 1_000

# Workers that may die with a row before it becomes a case.
MAX_CRASHES = 5

# How often an uncertain send is sent again before it becomes a case.
MAX_RESENDS = 2

# A recipient whom the server refuses for now is tried until both are exceeded.
MIN_REFUSALS = 5
REFUSED_FOR = timedelta(days=3)

# Larger priorities are claimed first.
MIN_PRIORITY, DEFAULT_PRIORITY, MAX_PRIORITY = -1000, 0, 1000

# Counted in characters.
MAX_NOTE_LENGTH = 2_000

# Snoozes that one act takes.
MAX_CHOSEN = 500

# Members of a digest, and rows of one person that are gathered at once, which takes some seconds.
MAX_DIGEST_SIZE = 40
MAX_GATHERED = 10_000
