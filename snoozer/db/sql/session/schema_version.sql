-- The revision of the newest migration that was applied; no row before the first one.
SELECT version_num FROM alembic_version
