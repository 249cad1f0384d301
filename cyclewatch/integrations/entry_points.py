# SPDX-License-Identifier: Apache-2.0
"""The functions that Lightning calls for each Trainer and Fabric (pyproject.toml).

They return callbacks only if CYCLEWATCH is set. Otherwise, they import nothing and return [].
"""

from __future__ import annotations

import os

from cyclewatch.settings.kinds import is_yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyclewatch.integrations.lightning import CycleWatchCallback, FabricCallback


def trainer_callbacks() -> list[CycleWatchCallback]:
    """The callbacks for ``lightning.pytorch.Trainer``."""
    if not _is_requested():
        return []
    from cyclewatch.integrations.lightning import CycleWatchCallback

    return [CycleWatchCallback()]


def fabric_callbacks() -> list[FabricCallback]:
    """The callbacks for ``lightning.fabric.Fabric``."""
    if not _is_requested():
        return []
    from cyclewatch.integrations.lightning import FabricCallback

    return [FabricCallback()]


def _is_requested() -> bool:
    return is_yes(os.environ.get("CYCLEWATCH", ""))
