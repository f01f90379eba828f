-- Save a typed phrase, newest by used_at, and keep only the newest max_phrases.
WITH pruned AS (
    DELETE FROM account_phrases
    WHERE account_id = :account_id
      AND phrase <> :phrase
      AND phrase NOT IN (
          SELECT phrase
          FROM account_phrases
          WHERE account_id = :account_id
            AND phrase <> :phrase
          ORDER BY used_at DESC
          LIMIT :max_phrases - 1
      )
)
INSERT INTO account_phrases (account_id, phrase)
VALUES (:account_id, :phrase)
ON CONFLICT (account_id, phrase) DO UPDATE
SET used_at = clock_timestamp()
