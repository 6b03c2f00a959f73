"""The commands that bring the data of the studies, and say what of it is there."""

from typing import Annotated

import typer

from askwho.cli import _options as o
from askwho.cli._printing import err, print_json, print_line
from askwho.cli._studies import studies

data_app = typer.Typer(help="The public data of the studies: fetch it, see what is there.", no_args_is_help=True)


@data_app.command("get")
def get(
    names: Annotated[
        list[str],
        typer.Argument(
            help="One or more of california, cifar10, cifar100, svhn, cifar10n, cifar10h.", show_default=False
        ),
    ],
    data: o.Data = None,
    mirror: Annotated[
        str | None,
        typer.Option(help="An address under which the archives lie by their own names; their makers' unless said."),
    ] = None,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Fetch what nobody published a checksum of, too.")
    ] = False,
) -> None:
    """Fetch official archives, check their published sums, and unpack them to where `askwho reproduce` looks."""
    where = studies("data").get(names, data=data, mirror=mirror, unverified=unverified, progress=_say)
    for folder in where:
        print_line(str(folder))


@data_app.command("list")
def list_(data: o.Data = None, json_: o.Json = False) -> None:
    """Say which data is there and in which form, and what to type for the rest."""
    found = studies("data").inventory(data)
    if json_:
        print_json(found)
        return
    for line in studies("data").told(found):
        print_line(line)


def _say(line: str) -> None:
    err.print(line, markup=False, soft_wrap=True)
