"""``python -m dshhooks``: the command line without its script."""

from __future__ import annotations

from dshhooks.cli.main import main

if __name__ == "__main__":
    main()
