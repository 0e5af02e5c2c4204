"""Words of the command that several tests use."""

# Trained in a moment: few and simple models, and nothing to compile.
TINY = ["--epochs", "3", "--members", "5", "--param", "engine=generic", "--base", "ridge"]
