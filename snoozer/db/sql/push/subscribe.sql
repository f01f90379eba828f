-- Add a device, or take over a device whose browser is subscribed already, by this person or by an earlier user:
-- knowing the secret proves possession of the browser. Returns its id; zero rows if the account has `most` others.
INSERT INTO push_devices (account_id, key_id, name, endpoint, public_key, auth_secret, shows_subject)
SELECT :account_id, :key_id, :label, :endpoint, :public_key, :auth_secret, :shows_subject
WHERE (
    SELECT count(*)
    FROM push_devices
    WHERE account_id = :account_id
      AND endpoint <> :endpoint
) < :most
ON CONFLICT ON CONSTRAINT uq_push_devices_endpoint DO UPDATE
SET account_id = EXCLUDED.account_id,
    key_id = EXCLUDED.key_id,
    name = EXCLUDED.name,
    public_key = EXCLUDED.public_key,
    auth_secret = EXCLUDED.auth_secret,
    shows_subject = EXCLUDED.shows_subject,
    problem = NULL,
    failures = 0,
    quiet_until = NULL,
    sent_at = CASE WHEN push_devices.account_id = EXCLUDED.account_id THEN push_devices.sent_at END,
    created_at = CASE WHEN push_devices.account_id = EXCLUDED.account_id THEN push_devices.created_at ELSE now() END
WHERE push_devices.account_id = EXCLUDED.account_id
   OR push_devices.auth_secret = EXCLUDED.auth_secret
RETURNING id
