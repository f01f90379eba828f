"""USE CASE of leaving: what is stored about a person as files, and as snoozes again."""
