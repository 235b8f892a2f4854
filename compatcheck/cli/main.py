"""The command line: a thin group whose commands are imported only when they are asked for."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from compatcheck import __version__
from compatcheck.cli.exit_codes import GONE, INTERNAL, USAGE

COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("compatcheck.cli.check:check", "Verdict for one configuration, or for a file of them."),
    "select": ("compatcheck.cli.select:select", "Which backend is picked, in which order they are tried, and why."),
    "scan": ("compatcheck.cli.scan:scan", "Check the launches in manifests, scripts, Markdown and Python files."),
    "explain": ("compatcheck.cli.explain:explain", "A rule, a cell, or an error text pasted from a log."),
    "probe": ("compatcheck.cli.probe:probe", "What this host has, what is wrong with it, and what works on it."),
    "smoke": ("compatcheck.cli.smoke:smoke", "Run kernel cells on the local GPU and compare with the matrix."),
    "evidence": ("compatcheck.cli.evidence:evidence", "Compare or merge evidence files of smoke runs."),
    "docs": ("compatcheck.cli.docs:docs", "Generate the feature tables, or check that they are current."),
    "audit": ("compatcheck.cli.audit:audit", "Compare the matrix with what a release's own code says."),
    "lint": ("compatcheck.cli.lint:lint", "Check a matrix file and overlays."),
    "matrix": ("compatcheck.cli.matrix:matrix", "Print the resolved matrix for other programs."),
}
"""Command name -> where it is, and its line in the help, kept here so that the help imports no command."""


class LazyGroup(click.Group):
    """A group that knows its commands' names without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], list(COMMANDS), n=1)
            hint = f" Did you mean {near[0]}?" if near else f" Commands: {', '.join(COMMANDS)}."
            raise click.UsageError(f"No command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="compatcheck")
def main() -> None:
    """Say whether an attention backend works with a KV-cache dtype, a GPU, a FlashInfer and a vLLM, and if not why.

    Exit codes: 0 fine, 1 findings, 2 usage or unreadable input, 3 unknown, 4 internal error.
    """


def entry() -> None:
    """Run the command line and leave with its exit code; nothing reaches the user as a traceback by surprise."""
    gc.disable()  # a short-lived process: collecting the matrix again and again costs a tenth of a cold check
    out = sys.stdout
    code: object
    try:
        try:
            code = main.main(prog_name="compatcheck", standalone_mode=False)
        except SystemExit as left:  # how every command leaves; what it printed is not written yet
            code = left.code
        if sys.stdout is not out:  # click puts a wrapper there where the reader of the output has gone
            sys.stdout = out
            raise BrokenPipeError
        out.flush()
    except click.UsageError as error:
        error.show()
        code = USAGE
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        code = 130
    except BrokenPipeError:
        _discard_output()
        code = GONE
    except OSError as error:
        _discard_output()
        click.echo(
            f"compatcheck: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""), err=True
        )
        code = INTERNAL
    except Exception:
        import traceback

        traceback.print_exc()
        click.echo("compatcheck: internal error; please report the lines above.", err=True)
        code = INTERNAL
    sys.exit(code if isinstance(code, int) else 0)


def _discard_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
