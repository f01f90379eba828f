-- Lock snoozes that were due before `until`, a bounded number at a time; `retire_restored` reads the ledger after that.
-- The statement waits for rows that others hold: a mark that is being written is seen afterwards. Rows that operators
-- have set aside count, too: they may have been resumed and sent since. So do rows that were due and have been taken
-- back from a worker since, although that moved their `remind_at`.
WITH due AS MATERIALIZED (
    SELECT id
    FROM email_snoozes
    WHERE (NOT inactive OR paused_by IS NOT NULL)
      AND (
          remind_at < :until
          OR (scheduled_for < :until AND updated_at >= :until)
      )
      AND id > :after
    ORDER BY id
    LIMIT :batch_size
    FOR NO KEY UPDATE
)
SELECT id
FROM due
