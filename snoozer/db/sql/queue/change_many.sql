-- Write the decision of an act about snoozes that this transaction has locked: all terms of each. Another time is a new
-- promise, and `email_snoozes_promise` resets the columns of the old one. With `keeps_promise` the tries and the next
-- claim stay, unless an operator has it tried at another time, `tried_at`, or `afresh`. A claim ends, so a worker that
-- holds the row loses it, unless it `keeps_claim`. A row that operators have set aside stays so until it gets another
-- time, or `tried_at`. If its owner revived a snooze or changed its reply policy, only replies from now on count.
UPDATE email_snoozes AS snooze
SET remind_at = CASE WHEN act.keeps_promise THEN COALESCE(act.tried_at, snooze.remind_at) ELSE term.remind_at END,
    scheduled_for = CASE
        WHEN act.keeps_promise AND act.tried_at <> snooze.remind_at THEN snooze_promise(snooze)
        WHEN act.keeps_promise THEN snooze.scheduled_for
    END,
    attempts = CASE WHEN act.afresh THEN 0 ELSE snooze.attempts END,
    crash_count = CASE WHEN act.afresh THEN 0 ELSE snooze.crash_count END,
    snooze_duration_hours = act.duration_hours,
    note = term.note,
    recurrence = NULLIF(term.recurrence, 'null'),
    wall_time = term.wall_time,
    zone = term.zone,
    time_kind = term.time_kind,
    at_any_hour = term.at_any_hour,
    reply_policy = term.reply_policy,
    reply_scope = term.reply_scope,
    reply_since = CASE
        WHEN snooze.inactive AND NOT act.paused AND NOT (
                snooze.outcome = 'retired' OR (snooze.paused_by IS NOT NULL AND act.keeps_promise)
            ) IS TRUE
            OR term.reply_policy <> COALESCE(snooze.reply_policy, 'keep')
            OR term.reply_scope <> COALESCE(snooze.reply_scope, 'message')
        THEN CURRENT_TIMESTAMP
        ELSE snooze.reply_since
    END,
    priority = term.priority,
    max_attempts = term.max_attempts,
    serialization_key = term.serialization_key,
    reference = term.reference,
    traceparent = COALESCE(:traceparent, snooze.traceparent),
    inactive = act.paused OR term.outcome IS NOT NULL OR (snooze.paused_by IS NOT NULL AND act.stays_aside),
    paused_by = CASE WHEN act.stays_aside AND NOT act.paused AND term.outcome IS NULL THEN snooze.paused_by END,
    outcome = term.outcome,
    finished_at = CASE
        WHEN term.outcome = snooze.outcome THEN snooze.finished_at
        WHEN term.outcome IS NOT NULL THEN CURRENT_TIMESTAMP
    END,
    claimed_at = CASE WHEN act.keeps_claim THEN snooze.claimed_at END,
    claimed_by = CASE WHEN act.keeps_claim THEN snooze.claimed_by END,
    claim_token = CASE WHEN act.keeps_claim THEN snooze.claim_token END,
    lease_expires_at = CASE WHEN act.keeps_claim THEN snooze.lease_expires_at END,
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
FROM jsonb_array_elements(CAST(:terms AS jsonb)) AS given (terms)
CROSS JOIN LATERAL jsonb_populate_record(CAST(NULL AS email_snoozes), given.terms) AS term
CROSS JOIN LATERAL jsonb_to_record(given.terms) AS act (
    duration_hours int, paused boolean, keeps_promise boolean, keeps_claim boolean, stays_aside boolean,
    tried_at timestamptz, afresh boolean
)
WHERE snooze.id = term.id
  AND snooze_keeps(:keeps)
RETURNING snooze.id
