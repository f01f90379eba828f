-- Sends whose second copy left before the hold was over.
CREATE OR REPLACE VIEW invariant_no_second_dot AS
SELECT
    snooze_id,
    id AS send_id,
    uncertain_at AS since,
    CASE
        WHEN dot_authorised_at > uncertain_at THEN 'a dot after an uncertain one that nobody had resolved'
        ELSE 'was uncertain, is ' || state || ', and nobody resolved it'
    END AS what
FROM (
    SELECT id, snooze_id, state, uncertain_at, dot_authorised_at, resolved_at FROM reminder_sends
    UNION ALL
    SELECT id, snooze_id, state, uncertain_at, dot_authorised_at, resolved_at FROM reminder_sends_archive
) AS sends
WHERE uncertain_at IS NOT NULL
  AND (
      (state <> 'uncertain' AND resolved_at IS NULL)
      OR (
          dot_authorised_at > uncertain_at
          AND (resolved_at IS NULL OR resolved_at < uncertain_at OR resolved_at > dot_authorised_at)
      )
  );
