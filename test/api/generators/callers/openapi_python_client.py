import sys

from memory_service_client import Client
from memory_service_client.api.memory import execute
from memory_service_client.models import CreateInput, MemoryResult, ToolResult, ToolUseInput, ViewInput

client = Client(base_url=sys.argv[1])
create = CreateInput(command="create", path="/memories/openapi_python_client.txt", file_text="one\ntwo\n")
result = execute.sync(client=client, body=create)
assert isinstance(result, MemoryResult)
print(result.content)

view = ViewInput(command="view", path=create.path, view_range=[1, 2])
block = ToolUseInput(type_="tool_use", id="toolu_python", name="memory", input_=view)
answer = execute.sync(client=client, body=block)
assert isinstance(answer, ToolResult)
assert answer.tool_use_id == "toolu_python"
