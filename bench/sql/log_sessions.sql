-- Each line of the server's log names the application of its session.
ALTER SYSTEM SET log_line_prefix = '%m [%p] %a '
