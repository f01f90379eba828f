"""The content of all tables, as one digest."""

from sqlalchemy import Engine, text

from snoozer.db.models import metadata


def checksum(engine: Engine) -> str:
    """Returns a digest of every table but sessions and feeds, whose last use is updated once an hour, and what
    counts refusals."""
    names = [table.name for table in metadata.sorted_tables if table.name not in {"sessions", "feeds", "quota_usage"}]
    content = "SELECT coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') FROM {} t"
    with engine.connect() as connection:
        return " ".join(str(connection.execute(text(content.format(name))).scalar_one()) for name in names)
