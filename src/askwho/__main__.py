"""`python -m askwho` is the command line."""

from askwho.cli import main

main()
