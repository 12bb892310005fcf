"""The machine of a measurement, and the ports of its servers."""

import os
import platform
import socket
import time


def machine():
    """The processor, its cores and the load."""
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    return f"{cpu}, {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port):
    """Returns when a server answers at a port."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
