"""Pages of an account: signing in, settings, devices, tokens, personal data."""
