"""Pauses of operators."""

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class Pause(Base):
    """A hold by operators on everything, a person, a domain, a channel, a priority, or an address that takes no
    mail."""

    __tablename__ = "pauses"
    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    value: Mapped[str] = mapped_column(server_default=text("''"))
    actor: Mapped[str]
    reason: Mapped[str]
    since: Mapped[datetime] = mapped_column(server_default=text("now()"))
    until: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    ended_by: Mapped[str | None]

    __table_args__ = (
        Index("uq_pauses_active", "kind", "value", unique=True, postgresql_where=text("ended_at IS NULL")),
    )
