"""The jinja2 environment of the templates, and template errors with name and line."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compatcheck.docs import markdown
from compatcheck.docs.cache import compiled_templates

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).resolve().parent


class DocsError(ValueError):
    """Something that stops generation: said with file and line where there is one."""


def default_templates() -> Path:
    """Return the packaged templates, or those of the source checkout."""
    packaged = _HERE.parent / "data" / "templates"
    return packaged if packaged.is_dir() else _HERE.parent.parent / "templates"


def templates_folder(folder: Path | None) -> None:
    """Raise `DocsError` where a folder of templates is asked for that there is not."""
    if folder is not None and not folder.is_dir():
        raise DocsError(f"{folder}: no such folder of templates")


def environment(folder: Path | None = None) -> Environment:
    """Return an environment over a folder of templates, which may lack some: the packaged ones fill in.

    A name that a template uses and nobody defined is an error. HTML is escaped; Markdown is not.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    templates_folder(folder)
    folders = [folder, default_templates()] if folder else [default_templates()]
    env = Environment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        autoescape=select_autoescape(enabled_extensions=("html", "html.j2"), default=False),
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        optimized=False,  # folding constants takes longer than all that it saves in one run
        bytecode_cache=compiled_templates(Path(__file__).read_bytes()),
    )
    for name in ("text", "code", "codes", "fence"):
        env.filters[name] = getattr(markdown, name)
    env.globals["table"] = markdown.table
    env.globals["link"] = markdown.link
    env.globals["code"] = markdown.code
    return env


def render(env: Environment, template: str, variables: dict[str, Any]) -> str:
    """Return a rendered template. Raises `DocsError` that names the template and the line."""
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError

    try:
        return env.get_template(template).render(variables)
    except TemplateSyntaxError as error:
        raise DocsError(f"{error.name or template}:{error.lineno}: {error.message}") from error
    except TemplateNotFound as error:
        raise DocsError(f"{_place(error, env) or template}: no such template: {error}") from error
    except RecursionError as error:
        raise DocsError(f"{_place(error, env) or template}: includes, or calls, itself without end") from error
    except (TemplateError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        where = _place(error, env)
        raise DocsError(f"{where or template}: {error}") from error


def _place(error: BaseException, env: Environment) -> str | None:
    """Return template:line of the innermost template frame of an error."""
    folders = [str(Path(path)) for path in getattr(env.loader, "searchpath", [])]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        for folder in folders:
            if frame.filename.startswith(folder):
                return f"{Path(frame.filename).relative_to(folder).as_posix()}:{frame.lineno}"
    return None
