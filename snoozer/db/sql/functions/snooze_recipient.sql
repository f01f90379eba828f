-- The address to which a person's mail goes: their choice of verified addresses, else that of the account. An
-- address that takes no mail is replaced by that of the account, and this one by the address that was verified first.
CREATE OR REPLACE FUNCTION snooze_recipient(person text) RETURNS text
    LANGUAGE sql
    STABLE
    AS $$
    SELECT COALESCE(
        (
            SELECT own.email
            FROM accounts AS account
            JOIN account_addresses AS own ON own.account_id = account.id
            WHERE account.email = lower(person)
              AND (
                  own.gets_mail
                  OR EXISTS (
                      SELECT 1
                      FROM pauses
                      WHERE pauses.kind = 'invalid' AND pauses.value = account.email AND pauses.ended_at IS NULL
                  )
              )
              AND NOT EXISTS (
                  SELECT 1
                  FROM pauses
                  WHERE pauses.kind = 'invalid' AND pauses.value = own.email AND pauses.ended_at IS NULL
              )
            ORDER BY own.gets_mail DESC, own.verified_at, own.email
            LIMIT 1
        ),
        person
    )
$$;
