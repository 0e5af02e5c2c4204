"""What a fitted model has learned, in pictures."""

from randsub.inspection.alpha_map import AlphaMapDisplay

__all__ = ["AlphaMapDisplay"]
