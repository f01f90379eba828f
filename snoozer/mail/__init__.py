"""The format of mails, and the way out by SMTP."""
