"""Problems written once, in scalar Python: what every engine explores is made of that.

``Model`` is what a problem says (``model``), ``text`` reads it, ``shape`` says what an
instance adds, ``cpu`` and ``cuda`` write it for compilers by what ``writer`` has for
both, ``generated`` is where that is kept.
"""

from dpbb.modeling.model import Model as Model
from dpbb.modeling.text import ModelError as ModelError
