"""Problems written once, in scalar Python: what every engine explores is made of that.

``Model`` is what a problem says (``model``), ``text`` reads it, ``cpu`` and ``cuda``
write it for compilers, ``generated`` is where that is kept.
"""

from dpbb.modeling.model import Model as Model
from dpbb.modeling.text import ModelError as ModelError
