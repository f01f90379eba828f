"""Read by `gunicorn wsgi:app` in this folder. The settings are in the package, so that the wheel has them too."""

from snoozer.web.gunicorn import *  # noqa: F403
