"""The served kinds, built-in and custom, with their discovery and OpenAPI documents."""
