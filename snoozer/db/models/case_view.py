from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class SavedCaseView(Base):
    """A filter of the list of cases that an operator keeps by a name (`case_views`)."""

    __tablename__ = "case_views"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", name="fk_case_views_account", ondelete="CASCADE"))
    name: Mapped[str]
    filter: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=text("now()"))

    __table_args__ = (UniqueConstraint("account_id", "name", name="uq_case_views_name"),)
