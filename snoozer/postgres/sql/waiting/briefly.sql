-- In this transaction nobody's lock is waited for longer than this.
SELECT set_config('lock_timeout', :milliseconds || 'ms', TRUE)
