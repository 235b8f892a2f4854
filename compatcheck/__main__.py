"""`python -m compatcheck` is `compatcheck`."""

from compatcheck.cli.entry import start

if __name__ == "__main__":
    start()
