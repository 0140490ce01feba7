"""Adapters for frameworks: each module needs the framework's own package, and nothing else imports it."""
