"""The site that the API is compared with: a plain Flask application with one INSERT and one SELECT. It has no tokens,
no quotas, and no validation."""

from flask import Flask, jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import Engine

from bench.http_load import PATH, READER
from bench.statements import execute
from snoozer.db.engine import make_engine
from snoozer.web import required_settings


def make_site(engine: Engine) -> Flask:
    app = Flask(__name__)

    @app.post(PATH)
    def create() -> ResponseReturnValue:
        body = request.get_json()
        named = {name: body[name] for name in ("message_id", "subject", "remind_at")}
        with engine.begin() as connection:
            id = execute(connection, "plain_insert", user_email=READER, **named).scalar_one()
        return jsonify(id=id), 201

    @app.get(PATH)
    def browse() -> ResponseReturnValue:
        with engine.begin() as connection:
            rows = execute(connection, "plain_list", user_email=READER).mappings().all()
        return jsonify(snoozes=[{**row, "remind_at": row["remind_at"].isoformat()} for row in rows])

    return app


def from_environment() -> Flask:
    """Called by gunicorn, as the product's own site is."""
    url = required_settings().database_url.get_secret_value()
    return make_site(make_engine(url, name="plain", pool_size=16))
