-- Lock snoozes that were due before `until`, a bounded number at a time; `retire_restored` reads the ledger after that.
-- It waits for rows that others hold: a mark that is being written is seen afterwards.
-- What operators have set aside counts as well: it may have been brought back and sent since.
-- What was due and has been taken back from a worker since counts, too, although that moved its `remind_at`.
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
