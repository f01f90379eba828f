-- Outcomes of the imported jobs of a source, in the order of their ids after `after`; withdrawn jobs are left out.
SELECT
    known.job_id,
    CASE
        WHEN snooze.id IS NULL THEN
            COALESCE(
                (SELECT archived.outcome FROM email_snoozes_archive AS archived WHERE archived.id = known.snooze_id),
                'erased'
            )
        WHEN its.state = 'case' THEN 'retired'
        WHEN its.state IN ('sent', 'cancelled', 'paused') THEN its.state
        WHEN its.state IN ('held', 'leaving') THEN 'being sent'
        ELSE 'waiting'
    END AS outcome,
    COALESCE(snooze_promise(snooze), known.due_at) AS due_at
FROM imported_jobs AS known
LEFT JOIN email_snoozes AS snooze ON snooze.id = known.snooze_id
CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
WHERE known.source = :source
  AND known.withdrawn_at IS NULL
  AND known.job_id > :after
ORDER BY known.job_id
LIMIT :limit
