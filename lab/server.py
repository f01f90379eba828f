"""The pages of the lab, on a loopback port that is open already: the site of this instance, and `/lab`."""

import socket
from threading import Thread
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server

from lab.instance import Lab
from lab.observer import Observer
from lab.pages import blueprint, init_app
from lab.tour import Tour
from snoozer.dev import ports
from snoozer.web import create_app


class SilentHandler(WSGIRequestHandler):
    """Serves without logging."""

    def log(self, type: str, message: str, *args: Any) -> None:
        return


class LabServer:
    """Serves until it is stopped; each open page has a thread."""

    def __init__(self, lab: Lab, held: socket.socket) -> None:
        tour = Tour(lab)
        self._observer = Observer(lab, tour)
        app = create_app(engine=lab.engine, settings=lab.settings)
        init_app(app, lab=lab, observer=self._observer, tour=tour)
        app.register_blueprint(blueprint)
        self._server = make_server(
            ports.HOST, ports.of(held), app, threaded=True, request_handler=SilentHandler, fd=held.fileno()
        )
        self._server.daemon_threads = True  # type: ignore[attr-defined]
        self._server.block_on_close = False  # type: ignore[attr-defined]
        self._thread = Thread(target=self._server.serve_forever, name="pages", daemon=True)

    def start(self) -> None:
        self._observer.start()
        self._thread.start()

    def stop(self) -> None:
        """End open streams, and stop serving."""
        self._observer.stop()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
