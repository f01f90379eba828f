-- Limit how long a statement of this transaction may take, and how long the transaction may be idle.
-- Both hold for the rest of the transaction.
SELECT
    set_config('statement_timeout', :statement_timeout, TRUE),
    set_config('idle_in_transaction_session_timeout', :idle_in_transaction_session_timeout, TRUE)
