"""In an interactive console, the last displayed value stays in `_`.

module global builtins._
"""

import code
import contextlib
import io
import weakref

import cyclewatch


class Model:
    pass


def session():
    console = code.InteractiveConsole({"Model": Model, "weakref": weakref})
    console.push("model = Model()")
    console.push("reference = weakref.ref(model)")
    with contextlib.redirect_stdout(io.StringIO()):
        console.push("model")
    console.push("del model")
    return console.locals["reference"]


reference = session()
print(cyclewatch.why_alive(reference, 1)[0])
