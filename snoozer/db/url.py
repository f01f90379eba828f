"""DATABASE_URL, as libpq and SQLAlchemy spell it."""

import re
from urllib.parse import quote

# scheme://user:password@ host:port,host:port /name ?query
_HOSTS = re.compile(r"(\w[\w+]*://(?:[^/?#]*@)?)([^/?#@]*,[^/?#@]*)(/[^?#]*)?(\?[^#]*)?")
_PORT = re.compile(r":\d+$")


def parse_url(text: str) -> str:
    """DATABASE_URL as `make_engine` expects it. Raises ValueError with one sentence that holds no password."""
    # Imported here, because a command that only calls the API has no database.
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    several = _HOSTS.fullmatch(text)
    try:
        url = make_url(_hosts_as_query(several) if several else text)
    except (ArgumentError, ValueError):
        raise ValueError("DATABASE_URL is not a URL such as postgresql://user:password@host:5432/name") from None
    if url.drivername not in {"postgres", "postgresql", "postgresql+psycopg"}:
        raise ValueError(f"DATABASE_URL must start with postgresql://, not {url.drivername}://")
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def _hosts_as_query(match: re.Match[str]) -> str:
    """Move several hosts, as libpq accepts them, into the query, where SQLAlchemy expects them."""
    before, hosts, path, query = match.groups(default="")
    parts = [host.rpartition(":") if _PORT.search(host) else (host, "", "5432") for host in hosts.split(",")]
    names, ports = ",".join(name.strip("[]") for name, _, _ in parts), ",".join(port for _, _, port in parts)
    return f"{before}{path}{query}{'&' if query else '?'}host={quote(names)}&port={quote(ports)}"
