-- Delete an account whose deletion has begun, with all that belongs to it, once nothing of the person is left elsewhere.
DELETE FROM accounts AS account
WHERE account.id = :account_id
  AND EXISTS (
      SELECT 1
      FROM account_deletions
      WHERE account_deletions.account_id = account.id
        AND begun_at IS NOT NULL
  )
  AND NOT EXISTS (SELECT 1 FROM email_snoozes WHERE user_email = account.email)
  AND NOT EXISTS (SELECT 1 FROM email_snoozes_archive WHERE user_email = account.email)
  AND NOT EXISTS (SELECT 1 FROM messages WHERE is_kept AND user_email = account.email)
  AND NOT EXISTS (SELECT 1 FROM push_sends WHERE push_sends.account_id = account.id)
  AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE webhook_deliveries.account_id = account.id)
RETURNING account.id
