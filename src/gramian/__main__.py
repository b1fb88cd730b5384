"""``python -m gramian`` is the command ``gramian``."""

from gramian.cli.main import main

if __name__ == "__main__":
    main()
