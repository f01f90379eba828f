"""The page `/lab`, its stream and its buttons. Only the lab registers it.

The stream sends the moving part of the page as HTML, drawn by the template that the page itself uses, some times a
second; the script puts it in place. Without scripts a page shows the moment at which it was opened.
"""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    redirect,
    render_template,
    request,
    stream_with_context,
)
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError

from lab import faults, scenes
from lab.instance import Lab
from lab.observer import STAGES, Observer, Snapshot
from lab.tour import Tour
from snoozer.web import context

BEAT_SECONDS = 5.0
LOCALE = "en_GB"
ROOT = Path(__file__).resolve().parents[1]

blueprint = Blueprint("lab", __name__, url_prefix="/lab", template_folder="templates", static_folder="static")

_KEY = "snoozer-lab"


def init_app(app: Flask, *, lab: Lab, observer: Observer, tour: Tour) -> None:
    app.extensions[_KEY] = (lab, observer, tour)


def _lab() -> Lab:
    found: Lab = current_app.extensions[_KEY][0]
    return found


def _observer() -> Observer:
    found: Observer = current_app.extensions[_KEY][1]
    return found


def _tour() -> Tour:
    found: Tour = current_app.extensions[_KEY][2]
    return found


@blueprint.before_request
def speak_english() -> None:
    context.use_locale(LOCALE)


@blueprint.get("")
def page() -> ResponseReturnValue:
    return render_template(
        "lab/page.html",
        groups=[(group, [fault for fault in faults.FAULTS if fault.group == group]) for group in faults.GROUPS],
        is_beside=_is_beside(),
        static_version=_static_version(),
        **_moving(_observer().look()),
    )


@blueprint.get("/stream")
def stream() -> ResponseReturnValue:
    """The moving part of the page, whenever it changed."""
    observer, is_beside = _observer(), _is_beside()

    def events() -> Iterator[str]:
        yield "retry: 1000\n\n"
        number, shown = 0, ""
        while not observer.is_stopping:
            snapshot = observer.after(number, seconds=BEAT_SECONDS)
            number = snapshot.number
            html = render_template("lab/_moving.html", is_beside=is_beside, **_moving(snapshot))
            if html == shown:
                yield ": nothing moved\n\n"
                continue
            shown = html
            yield "".join(f"data: {line.strip()}\n" for line in html.splitlines() if line.strip()) + "\n"

    response = Response(stream_with_context(events()), mimetype="text/event-stream")
    response.headers["Cache-Control"] = "no-store, no-transform"
    return response


@blueprint.get("/verdict.json")
def verdict() -> ResponseReturnValue:
    """The judge's present verdict."""
    lab = _lab()
    with lab.engine.connect() as connection:
        ours, theirs = lab.judge.count(connection)
    return {"snoozer": asdict(ours) | {"unmarked": ours.unmarked}, "naive": asdict(theirs)}


@blueprint.post("/acts/<name>")
def act(name: str) -> ResponseReturnValue:
    """Apply the fault of a button; `slot` names one worker."""
    fault = faults.BY_NAME.get(name)
    if fault is None:
        abort(404)
    lab, wanted = _lab(), request.form.get("slot")
    slot = next((slot for slot in lab.slots if slot.name == wanted), None)
    if wanted and slot is None:
        abort(404)
    try:
        happened = fault.act(lab, slot)
    except SQLAlchemyError:
        return _answer("The database does not answer, so nothing was done. Try it again in a moment.")
    lab.tell(happened)
    return _answer(happened, next=fault.next)


@blueprint.post("/tour/<name>")
def play(name: str) -> ResponseReturnValue:
    """Play a step of the tour, or `all` of them; with `end`, end the step that plays."""
    tour = _tour()
    if name == "end":
        tour.end()
        return _answer("The tour ends, and everything is put right.")
    if name != "all" and name not in tour.names:
        abort(404)
    plays = tour.play(*(tour.names if name == "all" else (name,)))
    return _answer("It plays." if plays else "A step plays already. Wait for its end, or end it.")


@blueprint.get("/source/<path:path>")
def source(path: str) -> ResponseReturnValue:
    """A file that a button or a step names, from this checkout; the wheel has no tests."""
    known = {name for each in (*faults.FAULTS, *scenes.SCENES) for name in (each.file, each.test)}
    if path not in known:
        abort(404)
    file = ROOT / path
    text = file.read_text(encoding="utf-8") if file.is_file() else None
    return render_template("lab/source.html", path=path, text=text, static_version=_static_version())


def _answer(happened: str, *, next: str = "") -> ResponseReturnValue:
    """As JSON for the script, otherwise the page again."""
    if request.accept_mimetypes.best == "application/json":
        return {"happened": happened, "next": next}
    context.flash(f"{happened} {next}".strip())
    back = "/lab?beside=0" if request.form.get("beside") == "0" else "/lab"
    return redirect(back, code=303)


def _moving(snapshot: Snapshot) -> dict[str, object]:
    return {"now": snapshot, "stages": STAGES, "times_of": _clock}


def _is_beside() -> bool:
    """Whether the naive loop is shown next to Snoozer."""
    return request.args.get("beside") != "0"


def _static_version() -> str:
    """A version that changes with each start, so that browsers do not reuse files of another lab."""
    return str(abs(hash(_lab().home)) % 10**8)


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")
