"""What an agent may use, one module a toolset. What is not granted does not exist for it."""
