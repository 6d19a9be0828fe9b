/**
 * Compares `MemoryBackend` with the `StoreBackend` in Deep Agents, call by call, and runs an agent with it. Runs in a
 * project with the packages, and prints the number of calls.
 */
import assert from 'node:assert/strict';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { InMemoryStore } from '@langchain/langgraph';
import { CompositeBackend, createDeepAgent, StateBackend, StoreBackend } from 'deepagents';
import { MemoryClient } from 'memory-service-client';
import { MemoryBackend } from 'memory-service-client/deepagents';

const memory = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL,
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});
const ours = new MemoryBackend(memory, { StoreBackend });
const theirs = new StoreBackend({ store: new InMemoryStore(), namespace: ['reference'] });

const LINES = Array.from({ length: 700 }, (_, i) => `line ${i + 1}`).join('\n');
const CALLS = [
  ['ls', '/'],
  ['read', '/missing.md'],
  ['readRaw', '/missing.md'],
  ['edit', '/missing.md', 'a', 'b'],
  ['delete', '/missing.md'],
  ['glob', '*.md'],
  ['grep', 'tea'],
  ['write', '/notes.md', 'Likes tea.\nLives in Lyon – 里昂.\nGreen tea, black tea.\n'],
  ['write', '/projects/plan.md', 'one\r\ntwo\n\nfour'],
  ['write', '/projects/deep/.hidden.md', 'tea'],
  ['write', '/projects/long.txt', LINES],
  ['write', '/empty.md', ''],
  ['ls', '/'],
  ['ls', '/projects'],
  ['ls', '/projects/'],
  ['ls', '/missing'],
  ['read', '/notes.md'],
  ['read', '/notes.md', 1, 1],
  ['read', '/notes.md', 2, 100],
  ['read', '/notes.md', 3],
  ['read', '/notes.md', 99],
  ['read', '/notes.md', -1, -1],
  ['read', '/projects/plan.md'],
  ['read', '/projects/long.txt'],
  ['read', '/projects/long.txt', 600, 500],
  ['read', '/projects'],
  ['read', '/empty.md'],
  ['readRaw', '/notes.md'],
  ['grep', 'tea'],
  ['grep', 'tea', '/'],
  ['grep', 'tea', '/projects'],
  ['grep', 'tea', '/notes.md'],
  ['grep', 'tea', '/missing'],
  ['grep', 'tea', null, '*.txt'],
  ['grep', 'tea', null, '{notes,.hidden}.md'],
  ['grep', 'line 1', null, null, 5],
  ['grep', 'TEA'],
  ['glob', '*.md'],
  ['glob', '**/*.md'],
  ['glob', '*.md', '/projects'],
  ['glob', '**/*.{md,txt}', '/projects'],
  ['glob', 'projects/*'],
  ['glob', 'notes.md', '/notes.md'],
  ['edit', '/notes.md', 'tea', 'coffee'],
  ['edit', '/notes.md', 'tea', 'coffee', true],
  ['edit', '/notes.md', 'Lyon', 'Paris $& $1'],
  ['edit', '/notes.md', 'absent', 'x'],
  ['edit', '/notes.md', '', 'x'],
  ['edit', '/empty.md', '', 'filled'],
  ['edit', '/projects/plan.md', '\r\ntwo', ''],
  ['read', '/notes.md'],
  ['read', '/empty.md'],
  ['write', '/notes.md', 'replaced'],
  ['read', '/notes.md'],
  ['uploadFiles', [['/up/a.md', new TextEncoder().encode('uploaded – 里昂')]]],
  ['downloadFiles', ['/up/a.md', '/missing.md', '/up']],
  ['delete', '/projects'],
  ['ls', '/'],
  ['delete', '/projects'],
  ['delete', '/notes.md'],
  ['delete', '/'],
  ['ls', '/'],
];

/**
 * Times differ, all files in a memory are plain text, and the reference counts a file's characters instead of its
 * bytes.
 */
const comparable = (value, key = '') => {
  if (key === 'mimeType') return value.startsWith('text/');
  if (['modified_at', 'created_at', 'size'].includes(key)) return typeof value;
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map((item) => comparable(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, comparable(item, name)]));
};
const byPath = (found) => found?.files?.sort((a, b) => (a.path < b.path ? -1 : 1));

for (const [method, ...args] of CALLS) {
  const [given, expected] = [await ours[method](...args), await theirs[method](...args)];
  // The order is not defined for files with the same time.
  byPath(given);
  byPath(expected);
  assert.deepEqual(comparable(given), comparable(expected), `${method} ${JSON.stringify(args).slice(0, 80)}`);
}
console.log(`${CALLS.length} calls as with StoreBackend`);

// Concurrent edits to one file are all applied.
await ours.write('/counts.md', 'a0 b0 c0 d0');
await Promise.all(['a', 'b', 'c', 'd'].map((name) => ours.edit('/counts.md', `${name}0`, `${name}1`)));
assert.equal((await ours.read('/counts.md')).content, 'a1 b1 c1 d1');

/** Plays a model's calls one by one. */
class Script extends BaseChatModel {
  calls = [
    { name: 'write_file', args: { file_path: '/memories/user.md', content: 'Lives in Lyon.\n' } },
    { name: 'read_file', args: { file_path: '/memories/user.md' } },
    { name: 'edit_file', args: { file_path: '/memories/user.md', old_string: 'Lyon', new_string: 'Paris' } },
    { name: 'grep', args: { pattern: 'Paris', path: '/memories/', output_mode: 'content' } },
    { name: 'glob', args: { pattern: '*.md', path: '/memories/' } },
    { name: 'ls', args: { path: '/memories/' } },
    { name: 'read_file', args: { file_path: '/memories/missing.md' } },
  ];
  _llmType() {
    return 'script';
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    const done = messages.filter((message) => ToolMessage.isInstance(message)).length;
    const call = this.calls[done];
    const message = new AIMessage({
      content: call ? '' : 'Done.',
      tool_calls: call ? [{ ...call, id: `call_${done}`, type: 'tool_call' }] : [],
    });
    return { generations: [{ text: message.text, message }] };
  }
}
const agent = createDeepAgent({
  model: new Script({}),
  backend: new CompositeBackend(new StateBackend(), { '/memories/': ours }),
});
const { messages } = await agent.invoke({ messages: [new HumanMessage('I live in Lyon.')] });
for (const message of messages)
  if (ToolMessage.isInstance(message)) console.log(`${message.name}: ${message.text.trim()}`);
const { content } = await memory.execute({ command: 'view', path: '/memories/user.md' });
console.log(content);
