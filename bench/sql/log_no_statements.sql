-- From now on no statement is a line of the server's log.
ALTER SYSTEM RESET log_statement
