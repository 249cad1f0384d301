# SPDX-License-Identifier: Apache-2.0
from music21 import note, stream

OWNERS = {note.Note: lambda n: 1024}


def leaky():
    s = stream.Stream()
    for name in ("C4", "E4", "G4"):
        n = note.Note(name, quarterLength=2)
        n.volume.velocity = 64
        s.append(n)
    return s.highestTime
