"""Kinds of units: what a visible or hidden unit can be, and its distribution.

A unit that receives the field x has p(s) proportional to exp(s . x + log_base(s)). This
package is the only place that knows what s is; energies, inference and objectives ask.
"""

from crbm.units.base import Units
from crbm.units.kinds import *  # noqa: F403
from crbm.units.kinds import __all__ as kinds
from crbm.units.mixed import Mixed

__all__ = ["Mixed", "Units", *kinds]
