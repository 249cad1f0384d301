# SPDX-License-Identifier: Apache-2.0
"""``cyclewatch completion``: what a shell offers after a tab, made from the table of commands."""

from __future__ import annotations

import shlex

from cyclewatch.cli import terminal
from cyclewatch.cli.failures import Status
from cyclewatch.cli.table import COMMANDS, PROGRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from cyclewatch.cli.options import Command


def main(arguments: argparse.Namespace) -> int:
    """Print the script."""
    terminal.show({"bash": bash, "zsh": zsh}[arguments.shell]())
    return Status.OK


def bash() -> str:
    """A script for bash, to be evaluated."""
    names = " ".join(command.name for command in COMMANDS)
    cases = "\n".join(_bash_case(command) for command in COMMANDS)
    return f"""\
_{PROGRAM}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    COMPREPLY=()
    # Of --color=never bash makes three words.
    [ "$word" = "=" ] && word=
    [ "$previous" = "=" ] && previous=${{COMP_WORDS[COMP_CWORD-2]}}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    # An empty answer has the shell offer file names.
}}
complete -o default -F _{PROGRAM} {PROGRAM}"""


def _bash_case(command: Command) -> str:
    values = [(option.flags, option.choices) for option in command.options if option.choices]
    words = [flag for option in command.options for flag in option.flags]
    lines = [f"        {command.name})"]
    for flags, choices in values:
        lines.append(f"            case $previous in {'|'.join(flags)})")
        lines.append(f'                COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$word"))')
        lines += ["                return ;;", "            esac"]
    lines.append("            [[ $word == -* ]] &&")
    offered = " ".join([*words, "--help"])
    lines.append(f'                COMPREPLY=($(compgen -W "{offered}" -- "$word"))')
    for argument in command.arguments:
        if argument.choices:
            offered = " ".join(argument.choices)
            lines.append(f'            COMPREPLY+=($(compgen -W "{offered}" -- "$word"))')
    lines.append("            ;;")
    return "\n".join(lines)


def zsh() -> str:
    """A script for zsh, to be put into a folder of $fpath as _cyclewatch."""
    commands = "\n".join(
        f"        {shlex.quote(f'{command.name}:{command.summary}')}" for command in COMMANDS
    )
    cases = "\n".join(_zsh_case(command) for command in COMMANDS)
    return f"""\
#compdef {PROGRAM}
_{PROGRAM}() {{
    local -a commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=${{words[2]}}
    shift words
    (( CURRENT-- ))
    case $command in
{cases}
    esac
}}
_{PROGRAM} "$@\""""


def _zsh_case(command: Command) -> str:
    specifications = []
    for option in command.options:
        text = _zsh_text(option.help)
        value = f":{option.metavar}:{_zsh_action(option.choices)}" if option.metavar else ""
        many = "*" if option.repeated else ""
        for flag in option.flags:
            # The value may follow in the same word: --color=never, -n3.
            joined = "" if not value else "=" if flag.startswith("--") else "+"
            specifications.append(f"{many}{flag}{joined}[{text}]{value}")
    for argument in command.arguments:
        many = "*" if argument.nargs in ("*", "+") else ""
        action = _zsh_action(argument.choices) if argument.choices or argument.completes else " "
        specifications.append(f"{many}:{_zsh_text(argument.metavar)}:{action}")
    arguments = " \\\n".join(f"                {shlex.quote(each)}" for each in specifications)
    return f"        {command.name})\n            _arguments \\\n{arguments} ;;"


def _zsh_action(choices: tuple[str, ...]) -> str:
    return f"({' '.join(choices)})" if choices else "_files"


def _zsh_text(text: str) -> str:
    for special in "\\[]:":
        text = text.replace(special, f"\\{special}")
    return text
