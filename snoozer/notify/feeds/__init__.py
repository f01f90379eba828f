"""USE CASE of feeds: addresses with a secret at which a calendar or a feed reader finds what is a person's.

What is snoozed as a calendar (RFC 5545) also is a file of the export. Only the sha256 of a secret is stored.
"""
