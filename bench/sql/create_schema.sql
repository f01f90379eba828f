-- The schema that a new database has.
CREATE SCHEMA public
