-- Change what its owner chose for a mailbox. The process that has it loses it, and it is taken anew; where the flag that
-- snoozes is another one, that process notes anew what carries it.
-- Zero rows: this person has no such mailbox.
UPDATE mailboxes
SET brings_back = :brings_back,
    snooze_flag = :snooze_flag,
    snooze_flag_time = :snooze_flag_time,
    flagged_noted_at = CASE
        WHEN snooze_flag IS NOT DISTINCT FROM CAST(:snooze_flag AS text) THEN flagged_noted_at
    END,
    flagged_uidvalidity = CASE
        WHEN snooze_flag IS NOT DISTINCT FROM CAST(:snooze_flag AS text) THEN flagged_uidvalidity
    END,
    owner = NULL,
    owned_until = NULL,
    fence = fence + 1,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND account_id = :account_id
RETURNING id
