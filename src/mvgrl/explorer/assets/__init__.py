"""The built script of the page, the licences of the libraries inside it, and what they were built from."""
