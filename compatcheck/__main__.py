"""`python -m compatcheck` is `compatcheck`."""

from compatcheck.cli.main import entry

if __name__ == "__main__":
    entry()
