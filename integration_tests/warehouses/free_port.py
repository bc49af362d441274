"""A port of this machine for a server that a test starts."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Return a port of the loopback address on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
