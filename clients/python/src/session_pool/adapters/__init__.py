"""Adapters for frameworks. Each module needs the framework's own package, and no other module imports it."""
