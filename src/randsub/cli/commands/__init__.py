"""What each command does: one module per command, with a function ``run(args)``."""
