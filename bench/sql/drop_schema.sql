-- Everything in a scratch database.
DROP SCHEMA public CASCADE
