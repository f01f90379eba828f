-- The table of the naive loop, for the lab alone: a claim with a lease and a generation, and nothing else.
CREATE TABLE naive_jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id text NOT NULL,
    rcpt text NOT NULL,
    subject text NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    remind_at timestamptz NOT NULL,
    claimed_by text,
    lease_expires_at timestamptz,
    lease_generation bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL DEFAULT 5
)
