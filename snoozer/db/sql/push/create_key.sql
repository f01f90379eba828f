-- Keep a new pair of keys that signs pushes; returns its id.
INSERT INTO push_keys (public_key, private_key)
VALUES (:public_key, :private_key)
RETURNING id
