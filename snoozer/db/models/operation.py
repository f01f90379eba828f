"""Acts of operators on many rows, and what became of each row."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class StoredOperation(Base):
    """An act, by whom and why, and how far it is."""

    __tablename__ = "operations"
    id: Mapped[int] = mapped_column(primary_key=True)
    form: Mapped[UUID]
    act: Mapped[str]
    parameters: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    actor: Mapped[str]
    reason: Mapped[str]
    request_id: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    members: Mapped[int] = mapped_column(server_default="0")
    done: Mapped[int] = mapped_column(server_default="0")
    unchanged: Mapped[int] = mapped_column(server_default="0")
    failed: Mapped[int] = mapped_column(server_default="0")
    worked_at: Mapped[datetime | None]
    cancelled_at: Mapped[datetime | None]
    cancelled_by: Mapped[str | None]
    finished_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("form", name="uq_operations_form"),
        Index("ix_operations_open", "id", postgresql_where=text("finished_at IS NULL")),
    )


class OperationMember(Base):
    """One row of an operation; `result` None until its act was done."""

    __tablename__ = "operation_members"
    operation_id: Mapped[int] = mapped_column(
        ForeignKey("operations.id", name="fk_operation_members_operation", ondelete="CASCADE"), primary_key=True
    )
    snooze_id: Mapped[int] = mapped_column(primary_key=True)
    result: Mapped[str | None]
    detail: Mapped[str | None]
    decided_at: Mapped[datetime | None]

    __table_args__ = (
        Index("ix_operation_members_open", "operation_id", "snooze_id", postgresql_where=text("result IS NULL")),
        Index("ix_operation_members_result", "operation_id", "result", "snooze_id"),
    )
