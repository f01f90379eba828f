-- The state of a snooze in a word, why it waits, and when that ends. KNOWN_SCHEMA is the newest schema_version that the
-- reader's workers can deliver.
CREATE OR REPLACE FUNCTION snooze_state(snooze email_snoozes, known_schema integer) RETURNS TABLE(state text, why text, next_at timestamp with time zone)
    LANGUAGE sql
    STABLE
    AS $$
    SELECT
        found.words[1],
        found.words[2],
        CASE
            WHEN snooze.claimed_at IS NOT NULL THEN snooze.lease_expires_at
            WHEN found.words[2] = 'operator_pause' THEN (
                SELECT pause.until
                FROM pauses AS pause
                WHERE pause.id = COALESCE(
                    snooze.paused_by, snooze_pause(snooze.user_email, snooze.priority, 'mail')
                )
            )
            WHEN NOT snooze.inactive AND snooze.remind_at > CURRENT_TIMESTAMP THEN snooze.remind_at
        END
    FROM (
        SELECT CASE
            WHEN snooze.inactive THEN CASE
                WHEN snooze.outcome = 'retired' THEN ARRAY['case', NULL]
                WHEN snooze.outcome IS NOT NULL THEN ARRAY[snooze.outcome, NULL]
                WHEN snooze.paused_by IS NOT NULL THEN ARRAY['paused', 'operator_pause']
                ELSE ARRAY['paused', COALESCE(
                    (
                        SELECT CASE event.kind WHEN 'resumed' THEN 'database_pause' ELSE 'owner_pause' END
                        FROM snooze_events AS event
                        WHERE event.snooze_id = snooze.id
                          AND event.kind IN ('paused', 'resumed', 'undone', 'imported')
                        ORDER BY event.id DESC
                        LIMIT 1
                    ),
                    'database_pause'
                )]
            END
            WHEN snooze.claimed_at IS NOT NULL THEN COALESCE(
                (
                    SELECT ARRAY['leaving', NULL]
                    FROM reminder_sends AS send
                    WHERE send.user_email = snooze.user_email
                      AND send.message_id = snooze.message_id
                      AND send.scheduled_for = snooze.scheduled_for
                      AND send.channel = 'email'
                      AND send.state = 'sending'
                      AND send.claim_token = snooze.claim_token
                    LIMIT 1
                ),
                ARRAY['held', NULL]
            )
            ELSE COALESCE(
                CASE WHEN snooze.remind_at <= CURRENT_TIMESTAMP THEN CASE
                    WHEN (SELECT TRUE FROM pauses WHERE ended_at IS NULL LIMIT 1)
                        AND snooze_pause(snooze.user_email, snooze.priority, 'mail') IS NOT NULL
                        THEN ARRAY['waiting', 'operator_pause']
                    WHEN snooze.attempts >= snooze.max_attempts THEN ARRAY['waiting', 'spent']
                    WHEN snooze.schema_version > known_schema THEN ARRAY['waiting', 'newer']
                    WHEN snooze.behind_key THEN ARRAY['waiting', 'key']
                    WHEN snooze.serialization_key IS NOT NULL
                        AND (
                            (
                                SELECT TRUE
                                FROM email_snoozes AS busy
                                WHERE busy.serialization_key = snooze.serialization_key
                                  AND busy.claimed_at IS NOT NULL
                                LIMIT 1
                            )
                            OR (
                                SELECT TRUE
                                FROM email_snoozes AS ahead
                                WHERE ahead.serialization_key = snooze.serialization_key
                                  AND NOT ahead.inactive
                                  AND ahead.claimed_at IS NULL
                                  AND ahead.attempts < ahead.max_attempts
                                  AND ahead.schema_version <= known_schema
                                  AND (ahead.remind_at, ahead.id) < (snooze.remind_at, snooze.id)
                                LIMIT 1
                            )
                        )
                        THEN ARRAY['waiting', 'key']
                END END,
                CASE WHEN snooze.scheduled_for IS NOT NULL THEN (
                    SELECT ARRAY['uncertain', CASE
                        WHEN snooze.remind_at <= CURRENT_TIMESTAMP THEN NULL
                        WHEN snooze.deferred_until > CURRENT_TIMESTAMP THEN 'rest'
                        ELSE 'hold'
                    END]
                    FROM reminder_sends AS send
                    WHERE send.user_email = snooze.user_email
                      AND send.message_id = snooze.message_id
                      AND send.scheduled_for = snooze.scheduled_for
                      AND send.channel = 'email'
                      AND send.state = 'uncertain'
                    LIMIT 1
                ) END,
                CASE
                    WHEN snooze.deferred_until > CURRENT_TIMESTAMP AND snooze.remind_at > CURRENT_TIMESTAMP
                        THEN ARRAY['waiting', 'rest']
                    WHEN snooze.scheduled_for IS NOT NULL
                        AND (
                            SELECT TRUE
                            FROM digest_members AS member
                            JOIN digests AS digest ON digest.id = member.digest_id
                            JOIN email_snoozes AS lead ON lead.id = digest.snooze_id
                            WHERE member.snooze_id = snooze.id
                              AND member.scheduled_for = snooze.scheduled_for
                            LIMIT 1
                        )
                        THEN ARRAY['waiting', 'digest']
                    WHEN snooze.remind_at <= CURRENT_TIMESTAMP THEN ARRAY['due', NULL]
                    WHEN snooze.scheduled_for <= CURRENT_TIMESTAMP THEN ARRAY['waiting', CASE
                        WHEN snooze.attempts > 0 OR snooze.last_error IS NOT NULL THEN 'retry'
                        ELSE 'message'
                    END]
                    ELSE ARRAY['asleep', NULL]
                END
            )
        END AS words
        OFFSET 0
    ) AS found
$$;
