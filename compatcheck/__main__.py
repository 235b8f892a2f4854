"""`python -m compatcheck` is `compatcheck`."""

from compatcheck.cli.entry import entry

if __name__ == "__main__":
    entry()
