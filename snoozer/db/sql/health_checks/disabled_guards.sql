-- Constraints and triggers that ought to be in force and are missing, not validated or disabled, with which of these.
SELECT wanted.table_name, wanted.name, COALESCE(CASE WHEN NOT found.convalidated THEN 'not validated' END, 'missing') AS problem
FROM unnest(CAST(:constraint_tables AS text[]), CAST(:constraints AS text[])) AS wanted (table_name, name)
LEFT JOIN pg_constraint AS found
  ON found.conrelid = to_regclass(wanted.table_name)
 AND found.conname = wanted.name
WHERE found.convalidated IS NOT TRUE
UNION ALL
SELECT wanted.table_name, wanted.name, COALESCE(CASE WHEN found.tgenabled IN ('D', 'R') THEN 'disabled' END, 'missing') AS problem
FROM unnest(CAST(:trigger_tables AS text[]), CAST(:triggers AS text[])) AS wanted (table_name, name)
LEFT JOIN pg_trigger AS found
  ON found.tgrelid = to_regclass(wanted.table_name)
 AND found.tgname = wanted.name
WHERE found.tgenabled IS NULL
   OR found.tgenabled IN ('D', 'R')
