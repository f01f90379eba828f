-- Dissolve the given digests that must not be sent: their members are sent singly. The digests' promises are locked and
-- not claimed, so that no worker can mark the mail that it has written. Only digests without a mark, or whose last mark
-- the server refused, are dissolved. A digest must not be sent if it was refused for good, if its promise is over or
-- has moved, if it was not sent within the hold, or if the person wants single mails now.
WITH unsent AS MATERIALIZED (
    SELECT digest.id
    FROM digests AS digest
    LEFT JOIN day_shapes AS day ON day.account_id = digest.account_id
    JOIN email_snoozes AS snooze ON snooze.id = digest.snooze_id
    LEFT JOIN reminder_sends AS send
      ON send.snooze_id = digest.snooze_id
     AND send.scheduled_for = digest.scheduled_for
     AND send.channel = 'email'
    WHERE digest.id = ANY(:ids)
      AND (
          send.id IS NULL
          OR send.state = 'failed'
          OR (send.state = 'reserved' AND (send.bytes_sha256 IS NULL OR snooze.inactive))
      )
      AND (
          snooze.inactive
          OR snooze_promise(snooze) <> digest.scheduled_for
          OR send.state = 'failed'
          OR day.gathers_over IS NULL
          OR digest.gathered_at < clock_timestamp() - :hold
      )
)
DELETE FROM digests
USING unsent
WHERE digests.id = unsent.id
RETURNING digests.id
