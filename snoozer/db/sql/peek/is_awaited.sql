-- Whether a person has a snooze that is still to be delivered.
SELECT EXISTS (
    SELECT 1
    FROM email_snoozes
    WHERE user_email = :user_email
      AND outcome IS NULL
      AND NOT inactive
)
