-- Save the snippets of kept messages.
UPDATE messages AS kept
SET snippet = found.snippet
FROM unnest(CAST(:ids AS bigint[]), CAST(:snippets AS text[])) AS found (id, snippet)
WHERE kept.id = found.id
