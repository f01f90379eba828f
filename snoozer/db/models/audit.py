from datetime import datetime
from typing import Any

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class AuditEntry(Base):
    """An act of an operator, a command or the clock. The database chooses `id` (without gaps), `at` and `hash`, and
    refuses to change or delete a row."""

    __tablename__ = "audit_log"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    actor: Mapped[str]
    act: Mapped[str]
    reason: Mapped[str | None]
    request_id: Mapped[str | None]
    operation_id: Mapped[int | None]
    snooze_id: Mapped[int | None]
    target: Mapped[str | None]
    before: Mapped[dict[str, Any] | None]
    after: Mapped[dict[str, Any] | None]
    hash: Mapped[bytes]

    __table_args__ = (
        Index("ix_audit_log_at", "at", "id"),
        Index("ix_audit_log_actor", "actor", "id"),
        Index("ix_audit_log_act", "act", "id"),
        Index("ix_audit_log_snooze", "snooze_id", "id", postgresql_where=text("snooze_id IS NOT NULL")),
        Index("ix_audit_log_operation", "operation_id", "id", postgresql_where=text("operation_id IS NOT NULL")),
    )
