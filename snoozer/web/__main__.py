"""gunicorn, with Snoozer imported before gunicorn puts the working folder in front of everything that can be."""

from gunicorn.app.wsgiapp import run

run()
