"""An account that its owner deletes."""

from datetime import datetime

from sqlalchemy import ForeignKey, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class AccountDeletion(Base):
    """Requested at `requested_at` and due a day later; from `begun_at` on it cannot be withdrawn. With `deliver`,
    waiting snoozes are delivered first."""

    __tablename__ = "account_deletions"
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", name="fk_account_deletions_account", ondelete="CASCADE"), primary_key=True
    )
    requested_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    due_at: Mapped[datetime]
    deliver: Mapped[bool]
    begun_at: Mapped[datetime | None]
    looked_at: Mapped[datetime | None]
