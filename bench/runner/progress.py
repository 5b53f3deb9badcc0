# SPDX-License-Identifier: MIT
"""A progress bar on stderr, or a plain line now and then where stderr is no terminal."""
import shutil
import sys
import time


def clock_text(seconds):
    return "%d:%02d" % divmod(int(seconds + 0.5), 60)


class Bar:
    def __init__(self, total):
        self.total = total
        self.count = 0
        self.begin = time.monotonic()
        self.tty = sys.stderr.isatty()
        self.last_tenth = -1

    def seconds(self):
        return time.monotonic() - self.begin

    def _eta(self):
        elapsed = self.seconds()
        if self.count == 0:
            return "--:--"
        return clock_text(elapsed / self.count * (self.total - self.count))

    def show(self, title):
        if self.tty:
            head = " %3d/%d  left %s  %s" % (self.count, self.total, self._eta(), title)
            width = max(10, min(40, shutil.get_terminal_size().columns - len(head) - 4))
            filled = width * self.count // max(1, self.total)
            line = "[" + "█" * filled + "·" * (width - filled) + "]" + head
            sys.stderr.write("\r\033[K" + line[:shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()
            return
        tenth = 10 * self.count // max(1, self.total)
        if tenth != self.last_tenth:
            self.last_tenth = tenth
            sys.stderr.write("bench: %d of %d runs, left %s\n" % (self.count, self.total, self._eta()))
            sys.stderr.flush()

    def done(self):
        self.count += 1

    def close(self, interrupted):
        if self.tty:
            sys.stderr.write("\r\033[K")
        sys.stderr.write("bench: %d of %d runs in %s%s\n" % (self.count, self.total, clock_text(
            self.seconds()), ", interrupted" if interrupted else ""))
        sys.stderr.flush()
