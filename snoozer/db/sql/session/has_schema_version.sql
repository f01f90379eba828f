-- Whether the database holds the version of a schema: Alembic makes its table before the first migration.
SELECT to_regclass('alembic_version') IS NOT NULL
