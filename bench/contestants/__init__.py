"""The workers of other queues, one file each. They run in bench/.venv, never in the project's own environment."""
