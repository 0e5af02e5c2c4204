"""Models in files and folders: :func:`save`, :func:`load` and :class:`ModelFolder`.

Loading a file cannot do harm: a file may only use types that are known to be harmless, or that the
user names (:mod:`randsub.io.trusted_types`); what compiled code relies on without checking is
checked or built again (:mod:`randsub.io.safe_forms`, :mod:`randsub.io.integrity`).
"""

from randsub.io.files import load, save
from randsub.io.folder import ModelFolder
from randsub.io.metadata import DataFacts

__all__ = ["DataFacts", "ModelFolder", "load", "save"]
