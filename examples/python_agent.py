"""An agent that responds to a message and keeps its memory on the memory service.

Run the service (npm start), then:

    pip install memory-service-python (in a clone: ./clients/python)
    export ANTHROPIC_API_KEY=…
    python examples/python_agent.py "I like short answers. Remember that."
    python examples/python_agent.py "What is the capital of France?"

MEMORY_SERVICE_URL, MEMORY_SERVICE_API_KEY, and MEMORY_SERVICE_TENANT configure the service and the tenant.
"""

import json
import os
import sys

from anthropic import Anthropic

from memory_service_client import MemoryClient, MemoryServiceTool


def main(prompt: str) -> None:
    memory = MemoryClient(
        os.environ.get("MEMORY_SERVICE_URL", "http://localhost:8080"),
        api_key=os.environ.get("MEMORY_SERVICE_API_KEY"),
        tenant=os.environ.get("MEMORY_SERVICE_TENANT"),
    )
    with memory, Anthropic() as client:
        runner = client.beta.messages.tool_runner(
            model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"),
            max_tokens=2048,
            messages=[{"role": "user", "content": prompt}],
            tools=[MemoryServiceTool(memory)],
            betas=["context-management-2025-06-27"],
            # In a long context, old results are removed, except memory tool results.
            context_management={"edits": [{"type": "clear_tool_uses_20250919", "exclude_tools": ["memory"]}]},
        )
        for message in runner:
            for block in message.content:
                if block.type == "text":
                    print(block.text)
                elif block.type == "tool_use":
                    print(f"[memory] {json.dumps(block.input, ensure_ascii=False)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f'Usage: python {sys.argv[0]} "what to tell or ask it"')
    main(sys.argv[1])
