"""How programs are started, watched and ended. The only package that may start a process."""
