"""Notes of whose lists a transaction changed; triggers write them, and no row is ever changed."""

from sqlalchemy import ARRAY, BigInteger, Column, DateTime, Index, Integer, Table, Text, text

from snoozer.db.models.base import Base

ListChange = Table(
    "list_changes",
    Base.metadata,
    Column("transaction_id", BigInteger, nullable=False),
    Column("people", ARRAY(Integer), nullable=False),
    Index("ix_list_changes_transaction", "transaction_id"),
    prefixes=["UNLOGGED"],
)
ListCheckpoint = Table(
    "list_checkpoints",
    Base.metadata,
    Column("snapshot", Text, nullable=False),
    Column("taken_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    prefixes=["UNLOGGED"],
)
