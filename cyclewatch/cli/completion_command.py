# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch completion``: what a shell offers after a tab, made from the table of commands.

The script has all the words in it: a tab starts no program.
"""

from __future__ import annotations

import shlex

from cyclewatch import _native
from cyclewatch.cli import terminal
from cyclewatch.cli.failures import Status
from cyclewatch.cli.table import COMMANDS, COMMON_OPTIONS, DEVICES, PROGRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from cyclewatch.cli.options import Argument, Command, Option

_HELP = COMMON_OPTIONS[0]


def main(arguments: argparse.Namespace) -> int:
    """Print the script."""
    terminal.show({"bash": bash, "zsh": zsh}[arguments.shell]())
    return Status.OK


def _words(of: Option | Argument) -> tuple[str, ...]:
    """What to offer for it, if that is no file."""
    if of.completes == "format":
        return tuple(_native.format_names())
    if of.completes == "device":
        return DEVICES
    if of.completes == "pattern":
        # Those of a configuration are known only where it is.
        return tuple(sorted(pattern.id for pattern in _native.patterns()))
    return of.choices


def _is_list(of: Option | Argument) -> bool:
    """Whether its value is several words with commas between them."""
    return of.completes in ("format", "device")


def bash() -> str:
    """A script for bash, to be evaluated."""
    names = " ".join(command.name for command in COMMANDS)
    common = " ".join(flag for option in COMMON_OPTIONS for flag in option.flags)
    cases = "\n".join(_bash_case(command) for command in COMMANDS)
    return f"""\
_{PROGRAM}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local at=2 before=
    COMPREPLY=()
    # Of --color=never bash makes three words.
    [ "$word" = "=" ] && word=
    [ "$previous" = "=" ] && previous=${{COMP_WORDS[COMP_CWORD-2]}}
    [[ $word == *,* ]] && before=${{word%,*}},
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{names} {common}" -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    # An empty answer has the shell offer file names, unless compopt forbids it.
}}
complete -o default -F _{PROGRAM} {PROGRAM}"""


def _bash_case(command: Command) -> str:
    lines = [f"        {command.name})"]
    if any(option.is_last for option in command.options):
        lines.append(_bash_end_of_options(command))
    values: dict[str, list[str]] = {}  # flags by what is offered for their values
    for option in command.options:
        if option.metavar:
            values.setdefault(_bash_offer(option), []).extend(option.flags)
    for offer, flags in values.items():
        lines.append(f"            case $previous in {'|'.join(flags)})")
        lines.append(f"                {offer}")
        lines += ["                return ;;", "            esac"]
    offered = " ".join(flag for option in (*command.options, _HELP) for flag in option.flags)
    lines.append("            [[ $word == -* ]] &&")
    lines.append(f'                COMPREPLY=($(compgen -W "{offered}" -- "$word"))')
    first = _words(command.arguments[0])
    if first:
        # Unless it is there already: what comes next are files.
        lines.append('            [[ " ${COMP_WORDS[*]:2:COMP_CWORD-2}" != *" "[!-]* ]] &&')
        lines.append(f'                COMPREPLY+=($(compgen -W "{" ".join(first)}" -- "$word"))')
    lines.append("            ;;")
    return "\n".join(lines)


def _bash_offer(option: Option) -> str:
    words = " ".join(_words(option))
    if not words:
        return ":" if option.completes == "file" else "compopt +o default 2>/dev/null"
    if _is_list(option):
        return f'COMPREPLY=($(compgen -P "$before" -W "{words}" -- "${{word##*,}}"))'
    return f'COMPREPLY=($(compgen -W "{words}" -- "$word"))'


def _bash_end_of_options(command: Command) -> str:
    # What follows the program is the program's, however much it looks like an option of ours.
    last = "|".join(f"{flag}*" for each in command.options if each.is_last for flag in each.flags)
    valued = "|".join(flag for each in command.options if each.metavar for flag in each.flags)
    return f"""\
            while [ "$at" -lt "$COMP_CWORD" ]; do
                case ${{COMP_WORDS[at]}} in
                    {last})
                        [ "${{#COMP_WORDS[at]}}" -eq 2 ] && [ "$((at + 1))" -eq "$COMP_CWORD" ] &&
                            compopt +o default 2>/dev/null
                        return ;;
                    {valued})
                        [ "${{COMP_WORDS[at+1]}}" = "=" ] && at=$((at + 1))
                        at=$((at + 2)) ;;
                    -?*) at=$((at + 1)) ;;
                    *) return ;;
                esac
            done"""


def zsh() -> str:
    """A script for zsh: a file _cyclewatch in a folder of $fpath, or to be evaluated."""
    commands = "\n".join(
        f"        {shlex.quote(f'{command.name}:{command.summary}')}" for command in COMMANDS
    )
    common = "\n".join(
        f"        {shlex.quote(f'{flag}:{option.help}')}"
        for option in COMMON_OPTIONS
        for flag in option.flags
    )
    cases = "\n".join(_zsh_case(command) for command in COMMANDS)
    return f"""\
#compdef {PROGRAM}
_{PROGRAM}() {{
    local -a commands=(
{commands}
    )
    local -a options=(
{common}
    )
    if (( CURRENT == 2 )); then
        _describe command commands -- options
        return
    fi
    local command=${{words[2]}}
    shift words
    (( CURRENT-- ))
    case $command in
{cases}
    esac
}}
if [[ ${{funcstack[1]}} == _{PROGRAM} ]]; then
    _{PROGRAM} "$@"
else
    compdef _{PROGRAM} {PROGRAM}
fi"""


def _zsh_case(command: Command) -> str:
    specifications = [f"(- *){flag}[{_zsh_text(_HELP.help)}]" for flag in _HELP.flags]
    for option in command.options:
        text = _zsh_text(option.help)
        value = f":{option.metavar}:{_zsh_action(option)}" if option.metavar else ""
        rest = ":*:ARGUMENT:_files" if option.is_last else ""
        many = "*" if option.repeated else ""
        for flag in option.flags:
            # The value may follow in the same word: --color=never, -n3.
            joined = "" if not value else "=" if flag.startswith("--") else "+"
            specifications.append(f"{many}{flag}{joined}[{text}]{value}{rest}")
    for argument in command.arguments:
        many = "*" if argument.nargs in ("*", "+") else ""
        specifications.append(f"{many}:{_zsh_text(argument.metavar)}:{_zsh_action(argument)}")
    # After the program, what looks like an option is the program's.
    ends = " -A '-*'" if any(option.is_last for option in command.options) else ""
    arguments = " \\\n".join(f"                {shlex.quote(each)}" for each in specifications)
    return f"        {command.name})\n            _arguments{ends} \\\n{arguments} ;;"


def _zsh_action(of: Option | Argument) -> str:
    words = " ".join(_words(of))
    if not words:
        return "_files" if of.completes == "file" else " "
    if _is_list(of):
        return f"_values -s , {of.metavar} {words}"
    return f"({words})"


def _zsh_text(text: str) -> str:
    for special in "\\[]:":
        text = text.replace(special, f"\\{special}")
    return text
