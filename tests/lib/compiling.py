"""Compilations beside the work that a test holds up, lets fail, or whose waiting it interrupts."""

import contextlib
import threading

__all__ = ["Gate", "compiling_threads", "interrupted_waits"]


class Gate:
    """Holds compilations until `open` is set; with an `error` they fail then. `threads` are those that compiled."""

    def __init__(self):
        self.open, self.error, self.threads = threading.Event(), None, []

    @property
    def names(self):
        return [thread.name for thread in self.threads]

    def held(self, lowered):
        """Stands for what JAX lowered."""
        return _Held(lowered, self)


class _Held:
    def __init__(self, lowered, gate):
        self.lowered, self.gate = lowered, gate

    def compile(self):
        self.gate.threads.append(threading.current_thread())
        assert self.gate.open.wait(60)
        if self.gate.error is not None:
            raise self.gate.error
        return self.lowered.compile()


def compiling_threads():
    return [thread for thread in threading.enumerate() if thread.name == "gluonx-compile"]


@contextlib.contextmanager
def interrupted_waits(monkeypatch):
    """Within, who waits for a compilation gets a KeyboardInterrupt."""
    join = threading.Thread.join

    def interrupted(self, timeout=None):
        if self.name == "gluonx-compile":
            raise KeyboardInterrupt
        return join(self, timeout)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", interrupted)
        yield
