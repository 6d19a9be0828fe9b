/**
 * Each example as a user runs it: in a separate process, against the fake Messages API.
 *
 * @module-tag long
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MemoryClient } from 'memory-service-client';
import { expect, it } from 'vitest';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { startOpenAi } from '../support/openai-api.ts';
import { text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

const REPLIES = [
  [text('Let me check my memory.'), use('toolu_1', { command: 'view', path: '/memories' })],
  [use('toolu_2', { command: 'create', path: '/memories/user.md', file_text: 'Lives in Lyon.' })],
  [text('I will remember that you live in Lyon.')],
];

const RUN = `Let me check my memory.
> {"command":"view","path":"/memories"}
> {"command":"create","path":"/memories/user.md","file_text":"Lives in Lyon."}
I will remember that you live in Lyon.
`;

it.concurrent.each([
  ['anthropic.ts', RUN],
  ['messages.ts', RUN],
  ['langchain.ts', RUN],
  // `generateText` returns only the last step's text.
  ['ai-sdk.ts', RUN.replace('Let me check my memory.\n', '')],
])('prints the documented output for examples/%s', async (name, output) => {
  const [api, key] = await Promise.all([fixture.messagesApi(REPLIES), fixture.tenantKey()]);
  const run = promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', `examples/${name}`, 'I live in Lyon.'],
    {
      cwd: new URL('../..', import.meta.url),
      env: {
        PATH: process.env.PATH,
        MEMORY_SERVICE_URL: fixture.url,
        MEMORY_SERVICE_API_KEY: key,
        ANTHROPIC_BASE_URL: api.url,
        ANTHROPIC_API_KEY: 'test',
      },
    },
  );
  expect(await run).toStrictEqual({ stdout: output, stderr: '' });
  expect(api.requests[0]?.body.messages.map(({ role }) => role)).toStrictEqual(['user']);

  const memory = new MemoryClient({ url: fixture.url, apiKey: key });
  expect(await memory.execute({ command: 'view', path: '/memories/user.md' })).toStrictEqual({
    content: "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.",
    is_error: false,
  });
});

it('prints the documented output for examples/openai.ts', async () => {
  const api = await startOpenAi();
  const key = await fixture.tenantKey();
  const run = promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', 'examples/openai.ts', 'I live in Lyon.'],
    {
      cwd: new URL('../..', import.meta.url),
      env: {
        PATH: process.env.PATH,
        MEMORY_SERVICE_URL: fixture.url,
        MEMORY_SERVICE_API_KEY: key,
        OPENAI_BASE_URL: api.url,
        OPENAI_API_KEY: 'test',
        MODEL: 'test',
      },
    },
  );
  expect(await run).toStrictEqual({
    stdout: `> {"command":"view","path":"/memories"}
> {"command":"create","path":"/memories/user.md",
> {"command":"create","path":"/memories/user.md","file_text":"Lives in Lyon."}
I will remember that you live in Lyon.
`,
    stderr: '',
  });
  await api.close();
  expect(
    api.requests
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool')
      .map(({ content }) => content),
  ).toStrictEqual([
    expect.stringContaining('4.0K\t/memories'),
    'Error: Invalid input for memory: the arguments are not valid JSON. Send the call again with a JSON object.',
    'File created successfully at: /memories/user.md',
  ]);
});

it('prints the documented output for examples/two-agents.ts', async () => {
  const builder = await fixture.tenantWithKey();
  const reviewer = await fixture.tenantWithKey();
  const team = await fixture.tenantWithKey();
  const mount = { name: 'team', tenant: team.tenant, instructions: 'What all of us have learned.' };
  await setMount(fixture.database(), builder.tenant, { ...mount, access: 'read_write' });
  await setMount(fixture.database(), reviewer.tenant, { ...mount, access: 'read_only' });
  const path = '/memories/team/tests.md';
  const api = await fixture.messagesApi([
    [use('toolu_1', { command: 'create', path, file_text: 'Tests use port 5433.' })],
    [text('The team knows.')],
    [use('toolu_2', { command: 'view', path })],
    [use('toolu_3', { command: 'str_replace', path, old_str: '5433', new_str: '5434' })],
    [text('They use port 5433. I cannot change the note.')],
  ]);
  const run = promisify(execFile)(process.execPath, ['--import', 'tsx', 'examples/two-agents.ts'], {
    cwd: new URL('../..', import.meta.url),
    env: {
      PATH: process.env.PATH,
      MEMORY_SERVICE_URL: fixture.url,
      BUILDER_KEY: builder.key,
      REVIEWER_KEY: reviewer.key,
      ANTHROPIC_BASE_URL: api.url,
      ANTHROPIC_API_KEY: 'test',
    },
  });
  expect(await run).toStrictEqual({
    stdout: `builder > {"command":"create","path":"/memories/team/tests.md","file_text":"Tests use port 5433."}
builder < File created successfully at: /memories/team/tests.md
builder: The team knows.
reviewer > {"command":"view","path":"/memories/team/tests.md"}
reviewer < Here's the content of /memories/team/tests.md with line numbers:
     1	Tests use port 5433.
reviewer > {"command":"str_replace","path":"/memories/team/tests.md","old_str":"5433","new_str":"5434"}
reviewer < Error: /memories/team is read-only. Write to your own directories under /memories instead.
reviewer: They use port 5433. I cannot change the note.
`,
    stderr: '',
  });
  expect(JSON.stringify(api.requests[0]?.body)).toContain(
    '- /memories/team (you can write; view a file right before you change it): What all of us have learned.',
  );
  const memory = new MemoryClient({ url: fixture.url, apiKey: team.key });
  expect((await memory.execute({ command: 'view', path: '/memories' })).content).toMatch(
    /\n4\.0K\t\/memories\n20B\t\/memories\/tests\.md$/,
  );
});

it('prints the documented output for examples/consolidate.ts', async () => {
  const { tenant, key: ownKey } = await fixture.tenantWithKey();
  const proposing = newApiKey();
  await new Keys(fixture.database()).create({
    hash: proposing.hash,
    id: proposing.id,
    tenant,
    access: 'propose',
    label: 'consolidation',
    source: 'consolidation',
    expiresAt: null,
  });
  const memory = new MemoryClient({ url: fixture.url, apiKey: ownKey });
  const path = '/memories/a.md';
  await memory.execute({ command: 'create', path, file_text: 'Lives in Lyon. Lives in Lyon.' });
  const api = await fixture.messagesApi([
    [use('toolu_1', { command: 'view', path })],
    [use('toolu_2', { command: 'str_replace', path, old_str: ' Lives in Lyon.', new_str: '' })],
    [text('I removed what was there twice.')],
  ]);
  const directory = await mkdtemp(join(tmpdir(), 'consolidate-'));
  const health = join(directory, 'health.json');
  const findings = [
    { kind: 'unread', title: 'Never read', total: 0, items: [], command: null },
    { kind: 'large', title: 'Too large', total: 2, items: [{ path, detail: '16001 characters' }] },
  ];
  await writeFile(health, JSON.stringify({ findings }));
  const run = promisify(execFile)(process.execPath, ['--import', 'tsx', 'examples/consolidate.ts', health], {
    cwd: new URL('../..', import.meta.url),
    env: {
      PATH: process.env.PATH,
      MEMORY_SERVICE_URL: fixture.url,
      MEMORY_SERVICE_API_KEY: proposing.key,
      ANTHROPIC_BASE_URL: api.url,
      ANTHROPIC_API_KEY: 'test',
    },
  });
  expect(await run).toStrictEqual({
    stdout: `> view /memories/a.md
> str_replace /memories/a.md
I removed what was there twice.
Review it: memory-service drafts list
`,
    stderr: '',
  });
  await rm(directory, { recursive: true });
  expect(String(api.requests[0]?.body.messages[0]?.content)).toMatch(
    /\n\nBegin with these findings:\n\nToo large: 2\n- \/memories\/a\.md \(16001 characters\)$/,
  );
  const seen = new MemoryClient({ url: fixture.url, apiKey: proposing.key });
  const view = { command: 'view', path } as const;
  expect((await seen.execute(view)).content).toMatch(/\tLives in Lyon\.$/);
  expect((await memory.execute(view)).content).toMatch(/\tLives in Lyon\. Lives in Lyon\.$/);
});
