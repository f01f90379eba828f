"""USE CASE of feeds: addresses with a secret at which a calendar or feed reader finds a person's snoozes.

The calendar of snoozed messages (RFC 5545) is also a file of the export. Only the sha256 of a secret is stored.
"""
