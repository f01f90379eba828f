"""A database without rows, as every test begins with it."""

from sqlalchemy import Engine, text

from snoozer.db.models import metadata

# Used, in bytes, with the partitions; and the sequence of those that gave numbers.
USED_TABLES = """
    SELECT name, bytes, sequence
    FROM unnest(CAST(:names AS text[])) AS name
    CROSS JOIN LATERAL to_regclass(name) AS relation
    CROSS JOIN LATERAL (
        SELECT pg_relation_size(relation) + COALESCE(sum(pg_relation_size(relid)), 0) AS bytes
        FROM pg_partition_tree(relation)
    ) AS size
    LEFT JOIN LATERAL (
        SELECT seqrelid::regclass::text AS sequence
        FROM pg_depend JOIN pg_sequence ON seqrelid = objid
        WHERE refobjid = relation AND pg_sequence_last_value(seqrelid) IS NOT NULL
    ) AS numbers ON TRUE
    WHERE bytes > 0 OR sequence IS NOT NULL
"""
# To truncate a table makes a new file for it, its indexes and all that refer to it: 0.15 s, where to delete some rows
# takes a thousandth. A table that grew is truncated, so that the dead rows of many tests never add up.
MAX_DELETED_BYTES = 128 * 1024


def empty(engine: Engine) -> None:
    """Leave no row in any table; ids begin at 1."""
    # How the functions were made is no row of a test.
    names = [table.name for table in metadata.sorted_tables if table.name != "definitions"]
    with engine.begin() as connection:
        # Without triggers: what follows a row is deleted too, and tables that only grow may be emptied here.
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        used = connection.execute(text(USED_TABLES), {"names": names}).all()
        grown = [table.name for table in used if table.bytes > MAX_DELETED_BYTES]
        few = [table.name for table in used if table.bytes and table.name not in grown]
        statements = [f"DELETE FROM {name}" for name in few]  # noqa: S608 - names of our own tables
        statements += [f"SELECT setval('{table.sequence}', 1, FALSE)" for table in used if table.sequence]
        if grown:
            statements.append(f"TRUNCATE {', '.join(grown)} CASCADE")
        if statements:
            connection.execute(text("; ".join(statements)))
