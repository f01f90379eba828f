-- How long a statement of this transaction may take, and how long nothing may be said in it.
SELECT
    set_config('statement_timeout', :statement_timeout, TRUE),
    set_config('idle_in_transaction_session_timeout', :idle_in_transaction_session_timeout, TRUE)
