/** The tool `memory_sharing` over MCP, with the official client, and in `tool_use` blocks. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { describe, expect, it } from 'vitest';
import { createHttpServer } from '../../clients/mcp/src/http.ts';
import { Keys } from '../../src/core/tenants/keys.ts';
import { useAgentFixture } from '../client/agent-fixture.ts';
import { connectHttp, listen } from '../client/mcp-connection.ts';
import { connectMcp } from '../support/mcp.ts';

const fixture = useAgentFixture({ SHARING: 'on' });

async function createSharer() {
  const { tenant } = await fixture.tenantWithKey();
  const purpose = { tenant, access: 'read_write', label: '', expiresAt: null, canShare: true } as const;
  return { tenant, key: (await new Keys(fixture.database()).issue(purpose)).key };
}

async function call(client: Client, input: Record<string, unknown>, name = 'memory_sharing') {
  const { content, isError } = await client.callTool({ name, arguments: input });
  return { text: String((content as { text: string }[])[0]?.text), isError };
}

describe.each([
  ['POST /mcp', (key: string) => connectMcp(fixture.url, { Authorization: `Bearer ${key}` })],
  [
    'memory-service-mcp',
    async (key: string) => {
      const options = { client: { url: fixture.url }, allowedHosts: [], maxBodyBytes: 1_000_000 };
      return connectHttp(`${await listen(createHttpServer(options))}/mcp`, key);
    },
  ],
])('the tool memory_sharing over %s', (_, connect) => {
  it('lists itself only for a key that may share', async () => {
    const names = async (key: string) =>
      (await (await connect(key)).listTools()).tools.map(({ name }) => name);
    expect(await names((await createSharer()).key)).toStrictEqual([
      'memory',
      'memory_search',
      'memory_sharing',
    ]);
    const other = await connect(await fixture.tenantKey());
    expect((await other.listTools()).tools.map(({ name }) => name)).toStrictEqual([
      'memory',
      'memory_search',
    ]);
    await expect(call(other, { command: 'list' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('The tools are memory and memory_search.'),
    });
  });

  it('invites, accepts, lists, revokes, and ends', async () => {
    const [lead, worker] = [await createSharer(), await createSharer()];
    const [giver, receiver] = [await connect(lead.key), await connect(worker.key)];
    const invited = await call(giver, { command: 'invite', access: 'read_write' });
    const [, id, token] =
      /^The invitation (inv_[0-9a-f]{12}) can be .*\n(msi_.{43})$/.exec(invited.text) ?? [];
    expect((await call(giver, { command: 'list' })).text).toMatch(
      new RegExp(`^Open invitations:\n${id}: read_write, once, until .*Z$`),
    );
    const accepted = await call(receiver, { command: 'accept', token, name: 'team' });
    const share = /shr_[0-9a-f]{12}/.exec(accepted.text)?.[0];
    expect(accepted.text).toBe(
      `The memory of ${lead.tenant} is now the directory /memories/team (read_write). The share is ${share}.`,
    );
    const file = { command: 'create', path: '/memories/team/a.md', file_text: 'x' };
    expect((await call(receiver, file, 'memory')).isError).toBe(false);
    expect(await call(receiver, { command: 'list' })).toMatchObject({
      text: `Other memories that you see:\n${share}: /memories/team shows ${lead.tenant} (read_write, ok)`,
    });
    expect(await call(giver, { command: 'list' })).toMatchObject({
      text: `Memories that see yours:\n${share}: ${worker.tenant} (read_write)`,
    });
    expect(await call(giver, { command: 'end', share })).toStrictEqual({
      text: 'The share has ended.',
      isError: false,
    });
    const second = await call(giver, { command: 'invite', prefix: '/memories/plans' });
    const invitation = /inv_[0-9a-f]{12}/.exec(second.text)?.[0];
    expect((await call(giver, { command: 'list' })).text).toContain(
      `${invitation}: read_only, only /memories/plans, once, until `,
    );
    expect((await call(giver, { command: 'revoke', invitation })).text).toBe('The invitation was revoked.');
    expect((await call(giver, { command: 'list' })).text).toBe(
      'There are no shares and no open invitations.',
    );
  });

  it('returns errors from which the model recovers', async () => {
    const client = await connect((await createSharer()).key);
    const token = `msi_${'0'.repeat(43)}`;
    const errors: [input: Record<string, unknown>, text: string][] = [
      [{}, 'Error: The field command must be one of list, invite, revoke, accept, end.'],
      [{ command: 'list', color: 1 }, 'Error: The body has an unknown field: color.'],
      [
        { command: 'accept', token: 'x', name: 'team' },
        'Error: The field token is not the token of an invitation.',
      ],
      [{ command: 'accept', token }, 'Error: The field name is missing.'],
      [
        { command: 'accept', token, name: 'team' },
        'Error: The invitation is unknown, used, revoked, or expired. Ask its sender for a new one.',
      ],
      [{ command: 'end', share: 'shr_0' }, 'Error: Share shr_0 does not exist, or has ended.'],
    ];
    for (const [input, text] of errors)
      expect(await call(client, input)).toStrictEqual({ text, isError: true });
  });
});

it('rejects a tool_use block for memory_sharing if the key may not share', async () => {
  const send = async (key: string) => {
    const block = { type: 'tool_use', id: 'a', name: 'memory_sharing', input: { command: 'list' } };
    const response = await fetch(`${fixture.url}/execute`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(block),
    });
    return ((await response.json()) as { content: string }).content;
  };
  expect(await send((await createSharer()).key)).toBe('There are no shares and no open invitations.');
  expect(await send(await fixture.tenantKey())).toBe(
    'Error: Unknown tool: memory_sharing. The tools are memory, memory_search',
  );
});
