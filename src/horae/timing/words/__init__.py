"""Words: sets in plain English, exact."""
