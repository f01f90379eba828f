-- Does this session's server take writes? A primary that was demoted while it goes on living does not.
SELECT current_setting('transaction_read_only') = 'off' AS takes_writes
