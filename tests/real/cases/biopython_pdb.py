# SPDX-License-Identifier: Apache-2.0
import numpy as np
from Bio.PDB.StructureBuilder import StructureBuilder

OWNERS = {np.ndarray: lambda array: array.nbytes}


def leaky():
    b = StructureBuilder()
    b.init_structure("s")
    b.init_model(0)
    b.init_chain("A")
    b.init_seg("    ")
    for i in range(5):
        b.init_residue("GLY", " ", i, " ")
        for name in ("N", "CA", "C"):
            b.init_atom(name, np.ones(3, "f"), 0.0, 1.0, " ", f" {name} ", 1, "C")
    return len(list(b.get_structure().get_atoms()))
