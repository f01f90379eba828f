-- The ledger of the naive loop: its key holds the time that a retry moves.
CREATE TABLE naive_sends (
    message_id text NOT NULL,
    remind_at timestamptz NOT NULL,
    sent_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (message_id, remind_at)
)
