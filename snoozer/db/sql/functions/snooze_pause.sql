-- The id of an operator's pause that stops this mail or push, or NULL.
CREATE OR REPLACE FUNCTION snooze_pause(person text, class integer, way text) RETURNS bigint
    LANGUAGE plpgsql
    STABLE
    AS $$
BEGIN
    RETURN (
        SELECT pause.id
        FROM pauses AS pause
        WHERE pause.ended_at IS NULL
          AND (pause.until IS NULL OR pause.until > CURRENT_TIMESTAMP)
          AND (
              pause.kind = 'all'
              OR (pause.kind = 'channel' AND pause.value = way)
              OR (pause.kind = 'person' AND pause.value = lower(person))
              OR (
                  pause.kind = 'invalid'
                  AND pause.value = lower(person)
                  AND way = 'mail'
                  AND snooze_recipient(person) = person
              )
              OR (pause.kind = 'domain' AND pause.value = snooze_recipient_domain(person))
              OR (pause.kind = 'class' AND pause.value = CAST(class AS text))
          )
        ORDER BY pause.id
        LIMIT 1
    );
END
$$;
