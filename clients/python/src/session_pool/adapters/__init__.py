"""Adapters for frameworks. A module needs the package of its framework, and no module of another one imports it."""
