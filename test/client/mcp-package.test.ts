/**
 * The packed MCP server in a separate project, and the configurations in its README.
 *
 * @module-tag long
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, it } from 'vitest';
import { useAgentFixture } from './agent-fixture.ts';
import { install, pack } from './packed-client.ts';

const fixture = useAgentFixture();

it('serves a tool call from the packed MCP server, installed alone in a new project', async () => {
  const packed = await pack('memory-service-mcp');
  expect(packed.files).toStrictEqual(['LICENSE', 'README.md', 'dist/cli.js', 'package.json']);
  expect(packed.unpackedSize).toBeLessThan(160 * 1024);
  const { directory } = await install([packed.archive], 'prefer-offline');

  const client = new Client({ name: 'test', version: '1' });
  const env = {
    PATH: process.env.PATH ?? '',
    MEMORY_SERVICE_URL: fixture.url,
    MEMORY_SERVICE_API_KEY: await fixture.tenantKey(),
  };
  const command = join(directory, 'node_modules/.bin/memory-service-mcp');
  await client.connect(new StdioClientTransport({ command, env, cwd: directory }));
  const input = { command: 'create', path: '/memories/user.md', file_text: 'Lives in Lyon.' };
  expect(await client.callTool({ name: 'memory', arguments: input })).toStrictEqual({
    content: [{ type: 'text', text: 'File created successfully at: /memories/user.md' }],
    isError: false,
  });
  await client.close();
});

it("names the package's command and variables in each configuration in the MCP README", async () => {
  const readme = await readFile(new URL('../../clients/mcp/README.md', import.meta.url), 'utf8');
  const configurations = [...readme.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) =>
    JSON.parse(text),
  );
  expect(configurations).toHaveLength(3);
  for (const { mcpServers } of configurations) {
    expect(mcpServers).toMatchObject({
      memory: {
        command: 'memory-service-mcp',
        env: { MEMORY_SERVICE_URL: 'http://localhost:8080', MEMORY_SERVICE_API_KEY: expect.any(String) },
      },
    });
  }
});
