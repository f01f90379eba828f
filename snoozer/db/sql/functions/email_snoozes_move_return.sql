-- The message of a snooze returns at the new time, or does not return, after an act on the snooze; so do messages of its
-- conversation that were snoozed with it.
CREATE OR REPLACE FUNCTION email_snoozes_move_return() RETURNS trigger
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path FROM CURRENT
    AS $$
DECLARE
    at TIMESTAMPTZ := CASE WHEN NOT NEW.inactive THEN snooze_return_at(NEW) END;
BEGIN
    -- Back now cancels a snooze in the transaction that promises this moment: a message of a mailbox returns for that
    -- promise, as for any other.
    -- A recurring snooze gets its next promise when its reminder is sent. A message of a mailbox may not be back by
    -- then: its return comes first, and enters the next promise.
    UPDATE messages
    SET returns_at = at,
        snooze_id = NEW.id,
        folder = CASE WHEN NEW.outcome = 'cancelled' AND is_kept AND folder = 'snoozed' THEN 'inbox' ELSE folder END,
        wanted = CASE WHEN NEW.outcome = 'cancelled' AND wanted = 'snoozed' THEN 'home' ELSE wanted END,
        updated_at = CURRENT_TIMESTAMP
    WHERE (
          snooze_id = NEW.id
          OR (NOT NEW.inactive AND user_email = NEW.user_email AND message_id = NEW.message_id)
      )
      AND (
          is_kept
          OR NEW.inactive
          OR NEW.recurrence IS NULL
          OR place = 'home'
          OR COALESCE(returns_at > clock_timestamp(), TRUE)
      )
      AND (is_kept OR NEW.outcome IS DISTINCT FROM 'cancelled' OR returns_at IS DISTINCT FROM CURRENT_TIMESTAMP);
    IF NOT NEW.inactive
        AND OLD.inactive
        AND OLD.paused_by IS NULL
        AND EXISTS (SELECT 1 FROM mailboxes WHERE state = 'active')
    THEN
        PERFORM mailbox_searches_enter(ARRAY[NEW.id]);
    END IF;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION email_snoozes_move_return() FROM PUBLIC;

CREATE OR REPLACE TRIGGER email_snoozes_move_return
    AFTER UPDATE ON email_snoozes
    FOR EACH ROW
    WHEN (
        (NOT NEW.inactive AND OLD.inactive)
        OR (
            NOT NEW.inactive
            AND COALESCE(NEW.scheduled_for, NEW.remind_at) <> COALESCE(OLD.scheduled_for, OLD.remind_at)
        )
        OR (NOT NEW.inactive AND NEW.recurrence ->> 'kind' IS DISTINCT FROM OLD.recurrence ->> 'kind')
        OR (NEW.inactive AND NOT OLD.inactive AND COALESCE(NEW.outcome, 'paused') IN ('paused', 'cancelled'))
        OR (NEW.outcome = 'cancelled' AND OLD.outcome IS NULL)
    )
    EXECUTE FUNCTION email_snoozes_move_return();
