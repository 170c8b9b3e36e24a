"""`python -m graphprior` is the command line."""

from graphprior.cli.main import main

if __name__ == "__main__":
    main()
