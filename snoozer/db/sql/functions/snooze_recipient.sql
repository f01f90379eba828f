-- The address to which a person's mail goes: the verified one that they chose, else that of the account. In the place of
-- an address that takes no mail comes that of the account, then the one that was verified first.
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
