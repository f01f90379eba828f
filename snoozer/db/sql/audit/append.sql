-- Append an entry of the audit log for each target, in their order; a trigger chains them.
-- The chain is locked until the transaction ends.
INSERT INTO audit_log (actor, act, reason, request_id, operation_id, snooze_id, target, before, after)
SELECT
    :actor,
    :act,
    :reason,
    :request_id,
    :operation_id,
    entry.snooze_id,
    entry.target,
    CAST(entry.before AS jsonb),
    CAST(entry.after AS jsonb)
FROM unnest(
    CAST(:snooze_ids AS bigint[]),
    CAST(:targets AS text[]),
    CAST(:befores AS text[]),
    CAST(:afters AS text[])
) WITH ORDINALITY AS entry (snooze_id, target, before, after, position)
ORDER BY entry.position
