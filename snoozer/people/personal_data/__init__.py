"""USE CASE of leaving: a person's stored data as files, and the import of such files."""
