"""What gunicorn serves."""

from snoozer.web import from_environment

app = from_environment()
