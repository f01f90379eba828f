-- From now on every statement is a line of the server's log.
ALTER SYSTEM SET log_statement = 'all'
