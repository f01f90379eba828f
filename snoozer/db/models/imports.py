"""A file that a person imports, as it was read, until it is confirmed."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, ForeignKey, Identity, Index, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class Import(Base):
    """One a person at a time. `presets` are [label, phrase] pairs."""

    __tablename__ = "imports"
    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", name="fk_imports_account", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    presets: Mapped[list[Any]] = mapped_column(JSONB, server_default=text("'[]'"))

    __table_args__ = (
        UniqueConstraint("account_id", name="uq_imports_account"),
        Index("ix_imports_created", "created_at"),
    )


class ImportRow(Base):
    """A snooze of the file by its line. `verdict` is what confirming does with it: `new` is saved, `same` is here,
    `changed` is here otherwise and stays so, `refused` is left out for its `reason`. `options` are columns of the
    snooze by their names."""

    __tablename__ = "import_rows"
    import_id: Mapped[int] = mapped_column(
        ForeignKey("imports.id", name="fk_import_rows_import", ondelete="CASCADE"), primary_key=True
    )
    line: Mapped[int] = mapped_column(primary_key=True)
    verdict: Mapped[str]
    reason: Mapped[str | None]
    state: Mapped[str | None]
    message_id: Mapped[str | None]
    subject: Mapped[str | None]
    sender_email: Mapped[str | None]
    note: Mapped[str | None]
    promised: Mapped[datetime | None]
    recurrence: Mapped[dict[str, Any] | None]
    wall_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=False))
    zone: Mapped[str | None]
    time_kind: Mapped[str | None]
    made_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    sends: Mapped[list[Any]] = mapped_column(JSONB, server_default=text("'[]'"))
    options: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    # Only processes of older releases fill these.
    reply_policy: Mapped[str | None]
    reply_scope: Mapped[str | None]
    at_any_hour: Mapped[bool] = mapped_column(server_default=text("false"))
    reference: Mapped[str | None]
