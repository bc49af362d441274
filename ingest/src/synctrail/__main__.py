"""Runs the command line where there is no script to call: ``python -m synctrail``, ``spark-submit``."""

from synctrail.cli import main

if __name__ == "__main__":
    main()
