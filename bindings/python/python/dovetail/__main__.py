"""``python -m dovetail`` is the command, too."""

from dovetail._command import main

main()
