"""RFC 5545 text: to sets and back."""
