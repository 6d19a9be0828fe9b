import sys

from openapi_client import (
    ApiClient,
    Configuration,
    CreateInput,
    ExecuteRequest,
    MemoryApi,
    MemoryCommandInput,
    MemoryResult,
)

api = MemoryApi(ApiClient(Configuration(host=sys.argv[1])))
create = CreateInput(command="create", path="/memories/openapi_generator_python.txt", file_text="one\ntwo\n")
response = api.execute(ExecuteRequest(MemoryCommandInput(create)))
assert isinstance(response.actual_instance, MemoryResult)
print(response.actual_instance.content)
