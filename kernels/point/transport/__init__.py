"""Transport models."""
