-- Is anybody there?
SELECT
