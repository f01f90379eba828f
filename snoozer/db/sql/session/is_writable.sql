-- Whether this session's server accepts writes; a primary that was demoted while it keeps running does not.
SELECT current_setting('transaction_read_only') = 'off' AS takes_writes
