-- The hash of an entry of the audit log and of the hash before it.
CREATE OR REPLACE FUNCTION audit_log_hash(previous bytea, entry audit_log) RETURNS bytea
    LANGUAGE sql
    STABLE
    AS $$
    SELECT sha256(
        COALESCE(previous, '') || convert_to(
            CAST(
                jsonb_build_array(
                    entry.id,
                    CAST(EXTRACT(EPOCH FROM entry.at) * 1000000 AS bigint),
                    entry.actor,
                    entry.act,
                    entry.reason,
                    entry.request_id,
                    entry.operation_id,
                    entry.snooze_id,
                    entry.target,
                    entry.before,
                    entry.after
                ) AS text
            ),
            'UTF8'
        )
    )
$$;
