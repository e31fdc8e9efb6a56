"""`python -m kitpick`: the command line, where its script is not on the path."""

from kitpick.cli import main

if __name__ == "__main__":
    main()
