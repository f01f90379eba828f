"""Pages and addresses of feeds, push messages and webhooks."""
