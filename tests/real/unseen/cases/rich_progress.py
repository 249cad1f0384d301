# SPDX-License-Identifier: Apache-2.0
import io

import torch
from rich.console import Console
from rich.progress import Progress


def leaky():
    with Progress(
        "{task.description}", console=Console(file=io.StringIO()), auto_refresh=False
    ) as progress:
        task = progress.add_task("train", total=3)
        for _ in range(3):
            progress.update(task, advance=1, loss=torch.rand(1000))
