# SPDX-License-Identifier: Apache-2.0
"""What docs/accuracy.md says about the sets of public reports that were not seen before."""

SECOND_REPORTS = """\
### Not seen before

No rule was derived from the following {count} public reports before their first run. Their programs
and right answers were written by somebody who had not seen the code of cyclewatch. The verdict is
{counts}: {share} of the first answers are
right. The kinds of pytorch #52140 and #115255 were known before. The remedies were applied to
copies of the programs, except those for pocket-tts and sac-discrete, which would drop data.
The two cycles that are never freed were found by `never_freed(settle=0)`; a single call with the
default `settle` only says how much memory may be concerned. The cycle in a worker was found with
`--follow-fork`.

{table}"""

THIRD_REPORTS = """\
### A second set not seen before

The following {count} public reports were chosen by what people report, not by what cyclewatch can
do. Their programs and right answers were written, and committed, before the first run, by somebody
who had read only the README and the guide. Each program ran once. The verdict is
{counts}: {share} of the first answers are
right. The remedies of all rows that are *right* or *partly* were applied to copies of the programs,
except for matplotlib #8519 and the two rows without a remedy.
Since then, the three harmful remedies and the kinds of metta #1139, pytorch #2198, peft #738,
jiminy #679, llama-agents #485, mlx-openai-server #269, reformatters #477, matplotlib #8519 and
pytorch #51978 and #82528 have been mended, and the remedy of diffusers #9543 also names the
variable.
After the remedies for ipython #11572 and matplotlib #25470, the next collection frees the memory.
The kinds of pytorch #82528, pytorch #51978, WhatDreamsCost-ComfyUI #212 and numpy #1601 were known
before. The misses by kind:

- A remedy deletes what the program needs: the variable that a loop fills, a logging handler, the
  loop of a worker thread.
- The growth of a graph is attributed to the variable that refers to its newest node, not to the
  variable or attribute that carries the graph to the next step.
- A remedy is missing or cannot be followed: a function registered with `atexit`, a variable of a
  context, an attribute instead of the variable that holds its object, a group of `live_owners()`.
- Nothing is found: entries of a `ModuleDict` that grows by name, the parameters of two layers after
  `backward(create_graph=True)`, an array in a tuple that the collector no longer tracks.
- Library code is not recognized, or is blamed for the program's own call.

{table}"""

FOURTH_REPORTS = """\
### A third set not seen before

The following {count} public reports, from training, serving, notebooks and data science, were
chosen and run in the same way as the previous set, by somebody who had read only the README and the
guide. The verdict is {counts}: {share} of the first answers
are right. Since then, kinds of its misses have been mended by general rules, not all of them, and
`.grad` after `backward(create_graph=True)` is found (pytorch-minimize #29). The remedies of all
rows that are *right* were applied to copies of the programs, except for the four rows without a
remedy. For three of the four *harmful* remedies (pytorch #4661, numpy #15746, scikit-survival
#218), the answer written down before called the remedy *partly* right; but it drops what the
program needs, so the verdict is that of the previous sets. The time limit of 120 seconds, on a busy
machine, ended the last program after it had printed the answer. The misses by kind:

- A remedy for a group of tensors in a list or dict names its first item only, and removing the item
  drops what the program needs. `live_owners()` does not say that an array is a view of another.
- If a module has several hooks that lead to an object, the remedy deletes the module.
- A growing group of views is to be cloned, although each view is as large as its base.
- The growth of a graph is attributed to the variable that refers to its newest node.
- The library has a call that releases the memory, but the remedy does not name the call:
  `plt.close()`, `Accelerator.free_memory()`, closing an iterator, running an event loop.
- Nothing is found: the parameters that a Newton optimizer leaves behind after
  `backward(create_graph=True)`.
- The card says that weak references do not work for a class with `__slots__`, but not what does.

{table}"""

FIFTH_REPORTS = """\
### A fourth set not seen before

The following {count} public reports were chosen and run in the same way as the previous set, by
somebody who had read only the README, the guide and this page. The verdict is
{counts}: {share} of the first
answers are right. Since then, the three harmful remedies and the kinds of cpython #113939,
ophyd #865, pytorch #23900 and #49394, aiida-core #4698, neurobench #184, pyzmq #1590, spikingjelly
#705 and airbyte-python-cdk #92 have been mended by general rules: a remedy that drops a value
states its condition, and a private attribute of a library is not to be changed. The programs of the
set were not run again. The remedies of all rows that are *right* were applied to copies of the
programs, except for the three rows without a remedy, and free the memory.
For unittest-xml-reporting #31, this is the second of two remedies in one sentence: the first is to
remove the items that are no longer needed, and all are needed. The diagnoses of
gradient-descent-the-ultimate-optimizer #1, synapse #15622, pytorch #18643 and #49394 are in open
threads. The misses by kind:

- A remedy deletes more than the entry that is no longer needed: the dict of a cache, the loop of a
  worker thread, the items of a list of which one attribute is not needed.
- The place is right, but the remedy cannot be followed or is not the useful one: items that
  `itertools.cycle` has saved, `f_locals` of a traceback, the registry of `weakref.finalize()`, an
  event loop that is already running, the list that a hook fills instead of the hook.
- `memory()` names the largest line, memory that no tensor uses, before a dict that keeps 400 MiB of
  tensors.
- A C field is named before the attribute that stores the `memoryview`.
- The explanation of a never-freed `.grad` assumes `backward(create_graph=True)`, although the
  program has assigned `.grad` itself.
- A bounded deque is reported as growing while it fills.

{table}"""

SIXTH_REPORTS = """\
### A fifth set not seen before

The following {count} public reports were chosen by 40 searches with keywords by cause, without
regard to what cyclewatch can do, by somebody who had read the README, the guide, this page and the
notes on the first reports, but not the code. Programs and right answers were written, and their
checksums recorded, before the first run; each program ran once. Five programs use the real library
besides torch and NumPy; the others have the shape of the code in the report. The verdict is
{counts}: {share} of the first answers
are right, none is harmful. Nothing has been mended since. The remedies of all rows that are *right*
were applied to copies of the programs, except for the three rows without a remedy; they free the
memory, and only the limited undo list of pypixelart #14 changes the output. This share is not
comparable with those of the earlier sets: kinds that earlier sets had missed have been mended
since, and the causes of ipfx #495, redis-vl-python #656, RevTorch #1, pro_gan_pytorch #12 and numpy
#6581 were those of earlier rows. For numpy #6581, the remedy that keeps the result is the second of
two in one sentence. For pyro #1938, the first of the two references is enough, although the card
says that both must be cut. RevTorch #1 was never freed when it was reported, but torch 2.13 lets a
collection free it. heat #1749 ran on a CPU. The misses by kind:

- A native type of a library that does not support the collector holds bound methods:
  `never_freed()` finds nothing and says that no unreachable device memory was found.
- A cycle that the program closes through an argument of a library function is called a leak of the
  library, and the attribute inside the library is to be changed.
- The remedy is to drop a reference that is used again on each access. It says that nothing else
  refers to the target, because variables of functions that have ended are not known.

{table}"""

SEVENTH_REPORTS = """\
### A sixth set not seen before

The following {count} public reports were chosen by a written rule, by somebody who had read the
README and the guide, but not the code. Programs and right answers were written, and their checksums
recorded, before the first run; each program ran once. Ten programs use the real library, the others
have the shape of the code in the report. The suggested cuts were applied to copies of the programs.
The verdict is
{counts}: {share} of the
first answers are right, and two would have broken the program. The table shows what was measured.
One kind has been fixed since: for what a waiting asyncio task holds, the advice is now to cancel
the task. It was to drop the task, or to close its coroutine. The other misses by kind:

- A weak reference is suggested for the only reference to an object that is still needed. Dead
  objects do not show who owned them.
- Two paths end in the same reference. Both suggest cutting it, although other references remain.
- The advice drops a stored exception. Clearing its traceback would be enough.
- For records that accumulate, a field of each record is named, not the containers of the records.
- If only C code holds the memory, the advice is about an attribute. It does not name the call that
  makes C code release the object.

{table}"""

EIGHTH_REPORTS = """\
### A seventh set not seen before

The following {count} public reports were chosen and judged as before, by somebody else who had not
read the code; 16 use the real library. Since the sixth set, the fix of a finding names each
variable that must be deleted, a second path ends in another reference than the first, and the
traceback of a stored exception is cut rather than the exception. The verdict is
{counts}: {share} of the first answers are right, and one would have broken the program. The table
shows what was measured. Three kinds have been fixed since: the cache of a function is cleared
rather than deleted, what C code holds is said in programs without torch, too, and the fix of a
cycle through a stored exception is to store it without its traceback. The other misses by kind:

- If two attributes keep the same growing graph, each is named in its own line. Only both together
  free it.
- Constants of traced functions are said to be saved for backward.
- `never_freed()` did not find the cycle of `x[1] = f(x[0])`; it does since.

{table}"""

NINTH_REPORTS = """\
### An eighth set not seen before

The following {count} public reports were chosen by somebody who had not seen the others, with an
answer and a repaired program for each, and run once by somebody else, who executed the advice.
There are no reports in which nothing is wrong; nothing was reported for any of the repaired
programs. The verdict is {counts}: {share} of the first answers are right. All six cycles of
ordinary objects and all growing containers are right; the misses are among what a running
callback, a thread or C++ code holds. Six kinds have been fixed since: the scan at exit precedes
the search for never freed memory, which had let a collection free the cycles unseen; what a
callback or a thread uses is released by removing the callback or ending the call, not by emptying
the object; parameters that only C code or a registry holds are not called the model; of groups of
equal size, those in use come last; `memory()` and `live_owners()` name a function that C code holds
before the C code; and a card names each of the functions that hooks of torch call. The weights that
autocast has cached are still not named.

{table}"""
