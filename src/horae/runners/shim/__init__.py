"""The small process that owns one run at a time. Nothing here imports anything but the standard library and itself."""
