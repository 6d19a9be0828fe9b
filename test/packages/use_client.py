"""Runs where only the Python package is installed."""

import os

from memory_service_client import MemoryClient

with MemoryClient(os.environ["MEMORY_SERVICE_URL"]) as memory:
    for command in (
        {"command": "create", "path": f"/memories/{os.environ['NAME']}.md", "file_text": "Lives in Lyon."},
        {"command": "view", "path": f"/memories/{os.environ['NAME']}.md"},
    ):
        print(memory.execute(command)["content"])
