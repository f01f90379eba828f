-- The server reads its settings again.
SELECT pg_reload_conf()
