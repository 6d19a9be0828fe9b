"""The tools in the SDK's tool runner, against the real service and a scripted stand-in for the Messages API."""

from __future__ import annotations

import inspect
import json
import logging
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.resources.beta.messages import Messages
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from fake_service import FakeService, problem
from memory_service_client import (
    AsyncMemoryClient,
    AsyncMemoryServiceTool,
    MemoryClient,
    MemoryServiceError,
    MemoryServiceTool,
)
from messages_api import Block, MessagesApi, text, tool_use

ROOT = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:"
MODEL = "claude-sonnet-5-5"
HAS_THREADS = "thread" in inspect.signature(Messages.tool_runner).parameters


class Converse(Protocol):
    """Runs the scripted conversation to its end, sync or async, and returns the last text."""

    def __call__(self, service_url: str, tenant: str, *, cache_control: Any = None, **params: Any) -> str: ...


@pytest.fixture(params=["sync", "async"])
def converse(request: pytest.FixtureRequest, api: MessagesApi) -> Converse:
    def run(service_url: str, tenant: str, *, cache_control: Any = None, **params: Any) -> str:
        common: Any = {
            "model": MODEL,
            "max_tokens": 1024,
            "messages": [{"role": "user", "content": "Help me respond to this customer service ticket."}],
            **params,
        }
        options: Any = {"api_key": "msk_SECRET", "tenant": tenant, "max_retries": 0}
        if request.param == "sync":
            with (
                MemoryClient(service_url, **options) as client,
                Anthropic(base_url=api.url, api_key="test", max_retries=0) as anthropic,
            ):
                tool = MemoryServiceTool(client, cache_control=cache_control)
                message = anthropic.beta.messages.tool_runner(tools=[tool], **common).until_done()
                return str(message.content[-1].text)

        async def main() -> str:
            async with (
                AsyncMemoryClient(service_url, **options) as client,
                AsyncAnthropic(base_url=api.url, api_key="test", max_retries=0) as anthropic,
            ):
                tool = AsyncMemoryServiceTool(client, cache_control=cache_control)
                message = await anthropic.beta.messages.tool_runner(tools=[tool], **common).until_done()
                return str(message.content[-1].text)

        return anyio.run(main)

    return run


def ok(tool_use_id: str, content: str) -> Block:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}


def failed(tool_use_id: str, content: str) -> Block:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": True}


def assert_results(api: MessagesApi, *turns: list[Block]) -> None:
    """Checks that the runner sent these results in this order, each content byte for byte."""
    assert api.tool_results() == list(turns)
    for turn, raw in zip(turns, api.raw[1:], strict=True):
        rest = raw
        for block in turn:
            _, found, rest = rest.partition(json.dumps(block["content"], ensure_ascii=False).encode())
            assert found, block


def test_the_customer_service_ticket_of_the_documentation_is_handled(
    converse: Converse, api: MessagesApi, service_url: str, tenant: str
) -> None:
    path = "/memories/customer_service_guidelines.xml"
    guidelines = (
        "<guidelines>\n<addressing_customers>\n- Always address customers by their first name\n"
        "- Use empathetic language\n</addressing_customers>\n</guidelines>\n"
    )
    with MemoryClient(service_url, tenant=tenant) as client:
        client.execute({"command": "create", "path": path, "file_text": guidelines})
    api.script = [
        [
            text("I'll help you respond to the customer service ticket. Let me check my memory."),
            tool_use("toolu_01C4D5E6F7G8H9I0J1K2L3M4", command="view", path="/memories"),
        ],
        [tool_use("toolu_01D5E6F7G8H9I0J1K2L3M4N5", command="view", path=path)],
        [text("Based on your customer service guidelines, I can help you craft a response.")],
    ]
    assert converse(service_url, tenant) == (
        "Based on your customer service guidelines, I can help you craft a response."
    )
    assert_results(
        api,
        [ok("toolu_01C4D5E6F7G8H9I0J1K2L3M4", f"{ROOT}\n4.0K\t/memories\n147B\t{path}")],
        [
            ok(
                "toolu_01D5E6F7G8H9I0J1K2L3M4N5",
                f"Here's the content of {path} with line numbers:\n"
                "     1\t<guidelines>\n"
                "     2\t<addressing_customers>\n"
                "     3\t- Always address customers by their first name\n"
                "     4\t- Use empathetic language\n"
                "     5\t</addressing_customers>\n"
                "     6\t</guidelines>\n"
                "     7\t",
            )
        ],
    )
    assert api.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]


@dataclass(frozen=True)
class Form:
    """A form of the requests in one conversation, as the API accepts them."""

    params: dict[str, Any]
    threads: list[Any]
    sent: list[int]
    """Number of messages in each request."""

    api_has_threads: bool = True


CONTINUE = [{"type": "continue", "previous_message_id": f"msg_{number}"} for number in (1, 2)]
needs_threads = pytest.mark.skipif(not HAS_THREADS, reason="This version of the SDK has no threads.")


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(Form({}, [{"type": "create"}, *CONTINUE], [1, 1, 1]), id="thread", marks=needs_threads),
        pytest.param(Form({"thread": False} if HAS_THREADS else {}, [None] * 3, [1, 3, 5]), id="no thread"),
        pytest.param(Form({}, [None] * 3, [1, 3, 5], api_has_threads=False), id="rejected thread"),
    ],
)
def test_the_model_gets_each_result_with_and_without_a_thread(
    converse: Converse, api: MessagesApi, service_url: str, tenant: str, form: Form
) -> None:
    path = "/memories/user.md"
    api.has_threads = form.api_has_threads
    api.script = [
        [tool_use("t1", command="create", path=path, file_text="Lives in Lyon.")],
        [tool_use("t2", command="view", path=path)],
        [text("Done.")],
    ]
    assert converse(service_url, tenant, **form.params) == "Done."
    assert_results(
        api,
        [ok("t1", f"File created successfully at: {path}")],
        [ok("t2", f"Here's the content of {path} with line numbers:\n     1\tLives in Lyon.")],
    )
    assert [request.get("thread") for request in api.requests] == form.threads
    assert [len(request["messages"]) for request in api.requests] == form.sent


def test_all_commands_in_one_turn_run_in_order(
    converse: Converse, api: MessagesApi, service_url: str, tenant: str
) -> None:
    a, b = "/memories/a.txt", "/memories/d/b.txt"
    api.script = [
        [
            tool_use("t1", command="create", path=a, file_text='Grüße 👋 "quoted" \\ \t\r\n'),
            tool_use("t2", command="view", path=a, view_range=[1, 1]),
            tool_use("t3", command="str_replace", path=a, old_str=" 👋", new_str=""),
            tool_use("t4", command="insert", path=a, insert_line=1, insert_text="two\n"),
            tool_use("t5", command="rename", old_path=a, new_path=b),
            tool_use("t6", command="view", path="/memories"),
            tool_use("t7", command="delete", path="/memories/d"),
        ],
        [text("Done.")],
    ]
    assert converse(service_url, tenant) == "Done."
    assert_results(
        api,
        [
            ok("t1", f"File created successfully at: {a}"),
            ok(
                "t2",
                f'Here\'s the content of {a} with line numbers:\n     1\tGrüße 👋 "quoted" \\ \t\r',
            ),
            ok(
                "t3",
                "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
                '     1\tGrüße "quoted" \\ \t\r\n     2\t',
            ),
            ok("t4", f"The file {a} has been edited."),
            ok("t5", f"Successfully renamed {a} to {b}"),
            ok("t6", f"{ROOT}\n4.0K\t/memories\n4.0K\t/memories/d/\n26B\t{b}"),
            ok("t7", "Successfully deleted /memories/d"),
        ],
    )


def test_failures_arrive_verbatim_as_errors(
    converse: Converse, api: MessagesApi, service_url: str, tenant: str
) -> None:
    missing = "/memories/missing.txt"
    cases: list[tuple[dict[str, object], str]] = [
        (
            {"command": "view", "path": missing},
            f"The path {missing} does not exist. Please provide a valid path.",
        ),
        (
            {"command": "str_replace", "path": missing, "old_str": "a", "new_str": "b"},
            f"Error: The path {missing} does not exist. Please provide a valid path.",
        ),
        (
            {"command": "insert", "path": missing, "insert_line": 0, "insert_text": "a"},
            f"Error: The path {missing} does not exist",
        ),
        ({"command": "delete", "path": missing}, f"Error: The path {missing} does not exist"),
        (
            {"command": "view", "path": "/memories/../etc"},
            "Error: Path /memories/../etc would escape /memories directory",
        ),
        # The SDK's models would change, complete, or reject the following inputs.
        (
            {"command": "insert", "path": missing, "insert_line": "0", "insert_text": "a"},
            "Error: Invalid input for insert: `insert_line` must be an integer",
        ),
        ({"command": "create", "path": missing}, "Error: Invalid input for create: `file_text` is missing"),
        (
            {"command": "view", "path": "/memories", "view_range": ["1", 2.0]},
            "Error: Invalid input for view: `view_range` must be an array of two integers",
        ),
        (
            {"command": "copy", "path": missing},
            "Error: Unknown command: copy. The commands are view, create, str_replace, insert, delete, rename",
        ),
    ]
    api.script = [
        [tool_use(f"t{i}", **tool_input) for i, (tool_input, _) in enumerate(cases)],
        [text("Done.")],
    ]
    assert converse(service_url, tenant) == "Done."
    assert_results(api, [failed(f"t{i}", content) for i, (_, content) in enumerate(cases)])


def test_an_omitted_new_str_deletes_text(converse: Converse, api: MessagesApi, service_url: str, tenant: str) -> None:
    path = "/memories/a.txt"
    api.script = [
        [
            tool_use("t1", command="create", path=path, file_text="keep, drop"),
            tool_use("t2", command="str_replace", path=path, old_str=", drop"),
        ],
        [text("Done.")],
    ]
    converse(service_url, tenant)
    assert api.tool_results()[-1][-1] == ok(
        "t2",
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tkeep",
    )


def test_requests_contain_the_definition(converse: Converse, api: MessagesApi, service_url: str, tenant: str) -> None:
    api.script = [[text("Nothing to do.")]]
    edits = {"edits": [{"type": "clear_tool_uses_20250919", "exclude_tools": ["memory"]}]}
    converse(service_url, tenant, cache_control={"type": "ephemeral"}, context_management=edits)
    assert api.requests[0]["tools"] == [
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    ]
    assert api.requests[0]["context_management"] == edits


def test_the_conversation_continues_without_the_service(
    converse: Converse, api: MessagesApi, fake: FakeService, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    fake.script = [problem(503, "database_unavailable", "The database does not respond.")]
    api.script = [
        [tool_use("t1", command="create", path="/memories/SECRET", file_text="SECRET")],
        [text("I cannot reach my memory.")],
    ]
    assert converse(fake.url, tenant) == "I cannot reach my memory."
    assert_results(
        api,
        [
            failed(
                "t1",
                "Error: The memory service responded with 503 database_unavailable: "
                "The database does not respond. (request req-of-the-service)",
            )
        ],
    )
    # A single line informs the operator. The runner would log a traceback for each call.
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [(record.name, record.exc_info) for record in warnings] == [("memory_service_client.client", None)]
    assert "database_unavailable" in warnings[0].message
    assert "SECRET" not in caplog.text


COMMANDS: list[tuple[str, Any]] = [
    ("create", BetaMemoryTool20250818CreateCommand(command="create", path="/memories/a", file_text="one\n")),
    ("view", BetaMemoryTool20250818ViewCommand(command="view", path="/memories/a", view_range=[1, 1])),
    (
        "str_replace",
        BetaMemoryTool20250818StrReplaceCommand(command="str_replace", path="/memories/a", old_str="one", new_str="1"),
    ),
    (
        "insert",
        BetaMemoryTool20250818InsertCommand(command="insert", path="/memories/a", insert_line=0, insert_text="0"),
    ),
    (
        "rename",
        BetaMemoryTool20250818RenameCommand(command="rename", old_path="/memories/a", new_path="/memories/b"),
    ),
    ("delete", BetaMemoryTool20250818DeleteCommand(command="delete", path="/memories/b")),
]
RESULTS = [
    "File created successfully at: /memories/a",
    "Here's the content of /memories/a with line numbers:\n     1\tone",
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\t1\n     2\t",
    "The file /memories/a has been edited.",
    "Successfully renamed /memories/a to /memories/b",
    "Successfully deleted /memories/b",
]


def test_the_methods_of_the_abstract_class_return_results(service_url: str, tenant: str) -> None:
    with MemoryClient(service_url, tenant=tenant) as client:
        tool = MemoryServiceTool(client)
        assert isinstance(tool, BetaAbstractMemoryTool)
        assert tool.name == "memory"
        for run in (lambda name, command: getattr(tool, name)(command), lambda _, command: tool.execute(command)):
            assert [run(name, command) for name, command in COMMANDS] == RESULTS
        with pytest.raises(ToolError) as caught:
            tool.delete(COMMANDS[-1][1])
        assert caught.value.content == "Error: The path /memories/b does not exist"


def test_the_methods_of_the_async_abstract_class_return_results(service_url: str, tenant: str) -> None:
    async def main() -> None:
        async with AsyncMemoryClient(service_url, tenant=tenant) as client:
            tool = AsyncMemoryServiceTool(client)
            assert isinstance(tool, BetaAsyncAbstractMemoryTool)
            assert tool.name == "memory"
            for run in (lambda name, command: getattr(tool, name)(command), lambda _, command: tool.execute(command)):
                assert [await run(name, command) for name, command in COMMANDS] == RESULTS
            with pytest.raises(ToolError) as caught:
                await tool.delete(COMMANDS[-1][1])
            assert caught.value.content == "Error: The path /memories/b does not exist"

    anyio.run(main)


def test_a_failure_of_the_service_is_the_cause_of_the_tool_error(fake: FakeService) -> None:
    fake.script = [problem(401, "unauthorized")]
    with MemoryClient(fake.url) as client, pytest.raises(ToolError) as caught:
        MemoryServiceTool(client).call({"command": "view", "path": "/memories"})
    assert isinstance(caught.value.__cause__, MemoryServiceError)
    assert caught.value.content == f"Error: {caught.value.__cause__}"


@pytest.mark.parametrize("value", [None, "view", [1]])
def test_other_values_than_inputs_are_rejected(fake: FakeService, value: object) -> None:
    with MemoryClient(fake.url) as client, pytest.raises(TypeError, match="a memory tool input is a dict"):
        MemoryServiceTool(client).call(value)
