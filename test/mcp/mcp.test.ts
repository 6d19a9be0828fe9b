/** The service's `/mcp` with the official client. test/client/mcp-client.test.ts tests the tools' results. */
import type { AddressInfo } from 'node:net';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MEMORY_TOOL, SEARCH_TOOL } from '../../src/features/mcp/tools.ts';
import { useAgentFixture } from '../client/agent-fixture.ts';
import { connectMcp, create, MISSING, text, VIEWED, view } from '../support/mcp.ts';
import { freshTenant, startSharedService } from '../support/test-service.ts';

const fixture = useAgentFixture();

const path = '/memories/user.md';
const connect = (headers: Record<string, string>, url = fixture.url) => connectMcp(url, headers);
const connectWith = (key: string) => connect({ Authorization: `Bearer ${key}` });
const call = (client: Client, input: object) => client.callTool({ name: 'memory', arguments: { ...input } });

describe('the official MCP client', () => {
  it('reads the tools, the instructions, the prompt, and the files', async () => {
    const client = await connectWith(await fixture.tenantKey());
    expect(client.getServerVersion()).toStrictEqual({
      name: 'memory-service',
      title: 'Memory',
      version: '0.1.0',
    });
    expect(client.getInstructions()).toMatch(/^IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY/);
    expect((await client.listTools()).tools).toStrictEqual([MEMORY_TOOL, SEARCH_TOOL]);
    expect((await client.listPrompts()).prompts).toMatchObject([
      { name: 'memory-protocol' },
      {
        name: 'memory-context',
        title: 'Memory context',
        description: 'Guidance for the memory, a list of its files, and the contents of pinned files.',
      },
    ]);
    const { messages } = await client.getPrompt({ name: 'memory-protocol' });
    expect(messages).toMatchObject([
      { content: { text: expect.stringMatching(/^IMPORTANT.*Do not create new files/s) } },
    ]);

    expect(await call(client, create)).toStrictEqual(text('File created successfully at: /memories/user.md'));
    expect(await call(client, create)).toStrictEqual(
      text('Error: File /memories/user.md already exists', true),
    );
    expect(await client.callTool({ name: 'memory_search', arguments: { query: 'Lyon' } })).toStrictEqual(
      text('Found 1 file in /memories, the best first:\n/memories/user.md:1: Lives in Lyon.'),
    );
    expect((await client.listResources()).resources).toStrictEqual([
      {
        uri: 'memory:///context',
        name: 'memory-context',
        title: 'Memory context',
        description: 'Guidance for the memory, a list of its files, and the contents of pinned files.',
        mimeType: 'text/plain',
      },
      {
        uri: 'memory:///memories/user.md',
        name: path,
        title: 'File in memory',
        description: 'A file of the memory, as text.',
        mimeType: 'text/plain',
      },
    ]);
    expect((await client.readResource({ uri: 'memory:///memories/user.md' })).contents).toMatchObject([
      { text: 'Lives in Lyon.' },
    ]);
    await expect(client.callTool({ name: 'bash', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it('serves the text of GET /context as a resource and as a prompt', async () => {
    const key = await fixture.tenantKey();
    const client = await connectWith(key);
    await call(client, { ...create, path: '/memories/pinned/user.md' });
    const { contents } = await client.readResource({ uri: 'memory:///context' });
    const { messages } = await client.getPrompt({ name: 'memory-context' });
    const headers = { Authorization: `Bearer ${key}`, Accept: 'text/plain' };
    const context = await (await fetch(`${fixture.url}/context`, { headers })).text();
    expect(context).toMatch(/^MEMORY PROTOCOL:.*\n\n<memory_snapshot>\n.* {5}1\tLives in Lyon\.\n</s);
    expect(contents).toStrictEqual([{ uri: 'memory:///context', mimeType: 'text/plain', text: context }]);
    expect(messages).toStrictEqual([{ role: 'user', content: { type: 'text', text: context } }]);
  });

  it('connects each client to the memory that belongs to its credential', async () => {
    const [one, other] = await Promise.all([fixture.tenantKey(), fixture.tenantKey()]);
    expect(await call(await connectWith(one), create)).toMatchObject({ isError: false });
    expect(await call(await connectWith(other), view)).toStrictEqual(text(MISSING, true));
    const named = await connect({
      Authorization: `Bearer ${fixture.serviceKey}`,
      'X-Tenant-Id': freshTenant(),
    });
    expect(await call(named, view)).toStrictEqual(text(MISSING, true));
    const readOnly = await connectWith(await fixture.tenantKey('read_only'));
    expect(await call(readOnly, create)).toMatchObject({ isError: true });
  });

  it("runs a client's parallel calls in the order in which they were sent", async () => {
    const client = await connectWith(await fixture.tenantKey());
    for (let round = 0; round < 5; round++) {
      const file = `/memories/${round}.md`;
      const results = await Promise.all([
        call(client, { command: 'create', path: file, file_text: 'x\n' }),
        call(client, { command: 'insert', path: file, insert_line: 0, insert_text: 'a' }),
        call(client, { command: 'insert', path: file, insert_line: 1, insert_text: 'b' }),
        call(client, { command: 'view', path: file }),
      ]);
      expect(results.at(-1)).toStrictEqual(
        text(`Here's the content of ${file} with line numbers:\n     1\ta\n     2\tb\n     3\tx\n     4\t`),
      );
    }
  });

  it('connects 400 clients at the same time, each to its own memory', { tags: 'long' }, async () => {
    // A slow machine needs a long queue, because the lookups for 400 unknown tenants are queued.
    const service = await startSharedService('postgres', { MAX_QUEUE_MS: '60000' });
    onTestFinished(() => service.close());
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = service.app.server.address() as AddressInfo;
    const tenants = Array.from({ length: 400 }, () => freshTenant('mcp'));
    const results = await Promise.all(
      tenants.map(async (tenant) => {
        const client = await connect({ 'X-Tenant-Id': tenant }, `http://127.0.0.1:${port}`);
        await call(client, { ...create, file_text: tenant });
        return call(client, view);
      }),
    );
    expect(results).toStrictEqual(
      tenants.map((tenant) =>
        text(`Here's the content of /memories/user.md with line numbers:\n     1\t${tenant}`),
      ),
    );
  });

  it('rejects a connection if the official MCP client sends a wrong key', async () => {
    await expect(connectWith('msk_wrong')).rejects.toMatchObject({ code: 401 });
  });

  it('applies a call only once if a host sends it twice with the same tool use ID', async () => {
    const client = await connectWith(await fixture.tenantKey());
    const insert = { command: 'insert', path, insert_line: 1, insert_text: 'Likes tea.' };
    const callAgain = () =>
      client.callTool({
        name: 'memory',
        arguments: insert,
        _meta: { 'claudecode/toolUseId': 'toolu_once' },
      });
    await call(client, create);
    expect(await callAgain()).toStrictEqual(text('The file /memories/user.md has been edited.'));
    expect(await callAgain()).toStrictEqual(text('The file /memories/user.md has been edited.'));
    expect(await call(client, view)).toStrictEqual(text(`${VIEWED}\n     2\tLikes tea.`));
  });
});
