"""Compilations beside the work that a test holds up, lets fail, or whose waiting it interrupts."""

import contextlib
import signal
import threading

import jax

__all__ = ["Gate", "compilations", "compiling_threads", "interrupted_waits"]


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


@contextlib.contextmanager
def compilations(interrupt_with=None):
    """The names of the threads that compile a program within; a signal comes at the end of JAX's first lowering."""
    found, waiting = [], [interrupt_with] if interrupt_with else []

    def handler(*_):
        raise waiting.pop()

    def heard(event, seconds, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            found.append(threading.current_thread().name)
        if event == "/jax/core/compile/jaxpr_to_mlir_module_duration" and waiting:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, handler)
    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)
        signal.signal(signal.SIGINT, before)
