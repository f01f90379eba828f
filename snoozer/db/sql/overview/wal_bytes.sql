-- How many bytes the files of the WAL have; only a role with pg_monitor may ask.
SELECT COALESCE(sum(size), 0)
FROM pg_ls_waldir()
