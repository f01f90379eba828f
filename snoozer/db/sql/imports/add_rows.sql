-- Keep rows that were read of the file, given as a JSON array of objects with the names of the columns.
INSERT INTO import_rows (
    import_id, line, verdict, reason, state, message_id, subject, sender_email, note, promised, recurrence, wall_time,
    zone, time_kind, reply_policy, reply_scope, made_at, finished_at, sends, at_any_hour,
    reference
)
SELECT
    :import_id, line, CASE WHEN reason IS NULL THEN 'new' ELSE 'refused' END, reason, state, message_id, subject,
    sender_email, note, promised, NULLIF(recurrence, 'null'), wall_time, zone, time_kind, reply_policy, reply_scope,
    made_at, finished_at, COALESCE(sends, '[]'), COALESCE(at_any_hour, FALSE), reference
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS read (
    line BIGINT, reason TEXT, state TEXT, message_id TEXT, subject TEXT, sender_email TEXT, note TEXT,
    promised TIMESTAMPTZ, recurrence JSONB, wall_time TIMESTAMP, zone TEXT, time_kind TEXT, reply_policy TEXT,
    reply_scope TEXT, made_at TIMESTAMPTZ, finished_at TIMESTAMPTZ, sends JSONB, at_any_hour BOOLEAN,
    reference TEXT
)
