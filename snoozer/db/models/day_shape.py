from datetime import date, datetime, time

from sqlalchemy import ARRAY, ForeignKey, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class SavedDayShape(Base):
    """When a person works and rests, one row a person; `rest_from` and `rest_until` are of the rest that lasts or comes
    next, right until `known_until`."""

    __tablename__ = "day_shapes"
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_day_shapes_account", ondelete="CASCADE"), primary_key=True
    )
    working_days: Mapped[list[int]] = mapped_column(ARRAY(SmallInteger), server_default="{1,2,3,4,5}")
    work_from: Mapped[time] = mapped_column(server_default="09:00")
    work_until: Mapped[time] = mapped_column(server_default="17:00")
    quiet_from: Mapped[time | None]
    quiet_until: Mapped[time | None]
    quiet_until_off: Mapped[time | None]
    rests_on_days_off: Mapped[bool] = mapped_column(server_default=text("false"))
    away_from: Mapped[date | None]
    back_on: Mapped[date | None]
    rest_from: Mapped[datetime | None]
    rest_until: Mapped[datetime | None]
    rest_reason: Mapped[str | None]
    known_until: Mapped[datetime] = mapped_column(server_default=text("now()"))
    refresh_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    changed: Mapped[bool] = mapped_column(server_default=text("true"))
    gathers_over: Mapped[int | None] = mapped_column(SmallInteger)
    review_on: Mapped[int] = mapped_column(SmallInteger, server_default="5")
    gathered_until: Mapped[datetime] = mapped_column(server_default=text("now()"))
    updated_at: Mapped[datetime] = mapped_column(server_default=text("now()"))

    __table_args__ = (Index("ix_day_shapes_refresh", "refresh_at"),)
