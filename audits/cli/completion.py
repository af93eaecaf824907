"""`dp-assay completion`: what a shell needs to complete commands and options."""

import argparse

from audits.cli import Commands

_SHELLS = ("bash", "zsh", "fish")
_EXAMPLES = """\
examples:
  dp-assay completion bash > ~/.local/share/bash-completion/completions/dp-assay
  dp-assay completion zsh > ~/.zfunc/_dp-assay
  dp-assay completion fish > ~/.config/fish/completions/dp-assay.fish

Files are completed after options and where a command takes one. The script holds the options of
this version: make it again after an upgrade.
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "completion",
        help="completion of commands and options for a shell",
        description="Prints a script for the shell.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))
    parser.set_defaults(run=lambda given: _run(given, commands))


def _run(given: argparse.Namespace, commands: Commands) -> int:
    options = {name: _options(parser) for name, parser in commands.choices.items()}
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[given.shell](options), end="")
    return 0


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [word for action in parser._actions for word in action.option_strings if len(word) > 2]


def _cases(options: dict[str, list[str]]) -> str:
    return "\n".join(f"    {name}) words='{' '.join(known)}' ;;" for name, known in options.items())


def _bash(options: dict[str, list[str]]) -> str:
    return f"""\
_dp_assay() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words
  case "$COMP_CWORD:${{COMP_WORDS[1]}}" in
    1:*) words='{" ".join(options)} --help --version' ;;
    *) case "${{COMP_WORDS[1]}}" in
{_cases(options)}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _dp_assay dp-assay
"""


def _zsh(options: dict[str, list[str]]) -> str:
    cases = _cases(options).replace(" words=", " known=")
    return f"""\
#compdef dp-assay
local known
if (( CURRENT == 2 )); then
  compadd -- {" ".join(options)} --help --version
else
  case "$words[2]" in
{cases}
  esac
  compadd -- ${{=known}}
  _files
fi
"""


def _fish(options: dict[str, list[str]]) -> str:
    lines = [
        "complete -c dp-assay -n __fish_use_subcommand -f -a '" + " ".join(options) + "'",
    ]
    for name, known in options.items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c dp-assay {seen} -l {word[2:]}" for word in known]
    return "\n".join(lines) + "\n"
