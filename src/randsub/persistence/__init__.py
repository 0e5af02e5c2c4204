"""Models in files and folders: :func:`save`, :func:`load` and :class:`ModelFolder`.

What is loaded cannot do harm: a file may only use types that are known to be harmless, or that the
user names (:mod:`randsub.persistence.trust`); what compiled code would take at its word is checked
or built again (:mod:`randsub.persistence.standins`, :mod:`randsub.persistence.soundness`).
"""

from randsub.persistence.facts import DataFacts
from randsub.persistence.files import load, save
from randsub.persistence.folder import ModelFolder

__all__ = ["DataFacts", "ModelFolder", "load", "save"]
