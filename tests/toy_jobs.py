"""Measurements for another process, in a file that imports nothing heavy."""

import os
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class ToyJob:
    """A measurement that does one thing."""

    what: str

    def run(self, device, progress):
        if self.what == "fail":
            raise ValueError("it broke")
        if self.what == "die":
            os._exit(7)
        if self.what == "wait":
            progress(half=1)
            time.sleep(600)
        return {"device": device, "process": os.getpid()}
