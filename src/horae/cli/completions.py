"""Completion scripts, made from the parsers themselves, so that they cannot say anything else than `--help`.

They are static: a shell that starts Python at each TAB is not usable. Names of jobs are the names of files in the home.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from importlib import import_module

from horae.cli import main
from horae.cli.output import Output

FISH_HEAD = r"""# completion of horae for fish: horae completions fish > ~/.config/fish/completions/horae.fish
function __horae_jobs
  set -l home ~/.horae
  set -q HORAE_HOME; and set home $HORAE_HOME
  set -l files $home/jobs/*.md
  set -q files[1]; and string replace -r '^.*/(.*)\.md$' '$1' $files
end
complete -c horae -f"""
JOB_COMMANDS = (
    "show",
    "edit",
    "pause",
    "resume",
    "remove",
    "check",
    "run",
    "runs",
    "why",
    "next",
    "calendar",
    "skip",
    "move",
)


def options_completions(parser: ArgumentParser) -> None:
    """What `completions` takes."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="whose completion")


def do_completions(args: Namespace, output: Output) -> int:
    """Print the script for one shell."""
    script = {"bash": bash, "zsh": zsh, "fish": fish}[args.shell](described())
    output.emit({"shell": args.shell, "script": script}, lambda: output.text(script))
    return 0


def described() -> dict[str, tuple[str, dict[str, str]]]:
    """command → (what it does, its long options with their help)."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for name, (module, what) in main.COMMANDS.items():
        parser = main.parser_for(name, import_module(f"horae.cli.{module}"))
        options = {
            text: action.help or ""
            for action in parser._actions  # noqa: SLF001  argparse has no public list of what it takes
            for text in action.option_strings
            if text.startswith("--") and action.help is not SUPPRESS
        }
        found[name] = (what, options)
    return found


def bash(commands: dict[str, tuple[str, dict[str, str]]]) -> str:
    """For `source <(horae completions bash)`."""
    cases = "\n".join(f'    {name}) options="{" ".join(options)}" ;;' for name, (_, options) in commands.items())
    return f"""# completion of horae for bash: put  source <(horae completions bash)  into ~/.bashrc
_horae() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command= options= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      --home) ((i++)) ;;
      -*) ;;
      *) command=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "{" ".join(commands)} --home --json --help" -- "$word"))
    return
  fi
  case $command in
{cases}
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ " {" ".join(JOB_COMMANDS)} " == *" $command "* ]]; then
    local jobs=${{HORAE_HOME:-$HOME/.horae}}/jobs
    COMPREPLY=($(compgen -W "$(cd "$jobs" 2>/dev/null && printf '%s\\n' *.md | sed 's/\\.md$//')" -- "$word"))
  fi
}}
complete -F _horae horae"""


def zsh(commands: dict[str, tuple[str, dict[str, str]]]) -> str:
    """For a file `_horae` in $fpath."""
    listed = "\n".join(f"    '{name}:{_plain(what)}'" for name, (what, _) in commands.items())
    cases = "\n".join(f"    {name}) options=({_zsh_options(options)}) ;;" for name, (_, options) in commands.items())
    return f"""#compdef horae
# completion of horae for zsh: put  horae completions zsh > _horae  into a folder of $fpath
_horae() {{
  local -a commands options jobs
  commands=(
{listed}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{cases}
  esac
  jobs=(${{HORAE_HOME:-$HOME/.horae}}/jobs/*.md(N:t:r))
  _arguments $options "*:job:($jobs)"
}}
_horae "$@\""""


def _zsh_options(options: dict[str, str]) -> str:
    return " ".join(f"'{text}[{_plain(what)}]'" for text, what in options.items())


def fish(commands: dict[str, tuple[str, dict[str, str]]]) -> str:
    """For ~/.config/fish/completions/horae.fish."""
    lines = [FISH_HEAD]
    for name, (what, options) in commands.items():
        lines.append(f"complete -c horae -n __fish_use_subcommand -a {name} -d '{_plain(what)}'")
        for text, text_help in options.items():
            lines.append(
                f"complete -c horae -n '__fish_seen_subcommand_from {name}' -l {text[2:]} -d '{_plain(text_help)}'"
            )
    lines.append(f"complete -c horae -n '__fish_seen_subcommand_from {' '.join(JOB_COMMANDS)}' -a '(__horae_jobs)'")
    return "\n".join(lines)


def _plain(text: str) -> str:
    return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", ",").replace("`", "")
