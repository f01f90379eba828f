-- Change the owner's choices for a mailbox. The process that owns it loses it, and a process takes it again; if the
-- snooze flag changed, that process notes again which messages carry it. Zero rows: this person has no such mailbox.
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
