"""Found by `gunicorn wsgi:app` in this folder; what it says is kept with the web room, so that the wheel has it too."""

from snoozer.web.gunicorn import *  # noqa: F403
