import sys

import httpx
from models import CreateInput, MemoryResult, ViewInput

create = CreateInput(command="create", path="/memories/datamodel_codegen.txt", file_text="one\ntwo\n")
response = httpx.post(f"{sys.argv[1]}/execute", json=create.model_dump())
print(MemoryResult.model_validate(response.json()).content)

view = ViewInput.model_validate({"command": "view", "path": create.path, "view_range": [1, 2]})
response = httpx.post(f"{sys.argv[1]}/execute", json=view.model_dump())
assert not MemoryResult.model_validate(response.json()).is_error
