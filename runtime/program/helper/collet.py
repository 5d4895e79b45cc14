"""A game that is a program talks to Collet. Python 2.7 and 3, also in Ren'Py; no other module is needed.

Started without Collet, every call does nothing and returns False or None. update_available and stop_requested read a
small file: call them once a second, not once a frame. See docs/PROGRAMS.md, "Helper".
"""

import io
import os


def _say(word, text=None):
    name = os.environ.get("COLLET_EVENTS")
    if not name:
        return False
    line = word if text is None else word + u" " + text
    line = line.replace("\n", " ").replace("\r", " ") + "\n"
    try:
        with open(name, "ab") as events:
            events.write(line.encode("utf-8"))
    except (IOError, OSError):
        return False
    return True


def _find(word):
    name = os.environ.get("COLLET_STATE")
    if not name:
        return None
    try:
        with io.open(name, encoding="utf-8") as state:
            for line in state:
                first, _, rest = line.rstrip("\r\n").partition(" ")
                if first == word:
                    return rest
    except (IOError, OSError, ValueError):
        pass
    return None


def ready():
    """The game has started: the release has proven itself. Call it when the first frame is shown."""
    return _say("ready")


def progress(text):
    """What the game does before it is ready, in at most 1000 bytes."""
    return _say("progress", text)


def update_available():
    """The version of a newer release that is ready for the next start, or None."""
    return _find("update")


def restart_to_update():
    """Asks to be started again. The game then ends by itself, with a clean exit code."""
    return _say("restart")


def stop_requested():
    """Whether the game should save and end."""
    return _find("stop") is not None
