/** The MCP server with independent programs: the MCP inspector and the Agent SDK's types. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { useAgentFixture } from '../client/agent-fixture.ts';
import { compile, install, pack, run } from '../client/packed-client.ts';
import { startProcess } from '../support/process.ts';

const fixture = useAgentFixture();

let directory = '';
beforeAll(async () => {
  const { archive } = await pack('memory-service-mcp');
  const packages = [
    archive,
    '@modelcontextprotocol/inspector@2.12.0',
    '@anthropic-ai/claude-agent-sdk@0.3.332',
  ];
  // The Agent SDK's optional packages contain Claude Code.
  const options = ['@types/node@22.20.5', '--omit=optional'];
  ({ directory } = await install([...packages, ...options], 'prefer-offline'));
}, 480_000);

const bin = (name: string) => join(directory, 'node_modules/.bin', name);

/** Runs the inspector as a command and returns its output. */
async function inspect(target: string[], method: string[]): Promise<unknown> {
  const args = ['--cli', ...target, '--method', ...method];
  const env = { PATH: process.env.PATH, HOME: directory };
  return JSON.parse((await run(bin('mcp-inspector'), args, { cwd: directory, env })).stdout);
}

const CREATE = ['command=create', 'path=/memories/user.md', 'file_text=Lives in Lyon.'];
const CALL = ['tools/call', '--tool-name', 'memory', ...CREATE.flatMap((arg) => ['--tool-arg', arg])];
const CREATED = {
  content: [{ type: 'text', text: 'File created successfully at: /memories/user.md' }],
  isError: false,
};

it('serves the MCP inspector over stdio', async () => {
  const variables = [
    `MEMORY_SERVICE_URL=${fixture.url}`,
    `MEMORY_SERVICE_API_KEY=${await fixture.tenantKey()}`,
  ];
  const target = [...variables.flatMap((variable) => ['-e', variable]), bin('memory-service-mcp')];
  expect(await inspect(target, ['tools/list'])).toMatchObject({
    tools: [{ name: 'memory' }, { name: 'memory_search' }],
  });
  expect(await inspect(target, CALL)).toStrictEqual(CREATED);
  expect(await inspect(target, ['resources/list'])).toMatchObject({
    resources: [{ uri: 'memory:///context' }, { uri: 'memory:///memories/user.md' }],
  });
});

it('serves the MCP inspector over HTTP', async () => {
  const server = startProcess(bin('memory-service-mcp'), ['--http', '0'], {
    MEMORY_SERVICE_URL: fixture.url,
  });
  const [, url = ''] = await server.line(/Serving MCP on (\S+)/);
  const header = `Authorization: Bearer ${await fixture.tenantKey()}`;
  expect(await inspect([url, '--transport', 'http', '--header', header], CALL)).toStrictEqual(CREATED);
  server.child.kill();
  await server.exit;
});

it("serves the MCP inspector at the service's own /mcp", async () => {
  const header = `Authorization: Bearer ${await fixture.tenantKey()}`;
  const target = [`${fixture.url}/mcp`, '--transport', 'http', '--header', header];
  expect(await inspect(target, CALL)).toStrictEqual(CREATED);
  expect(await inspect(target, ['resources/list'])).toMatchObject({
    resources: [{ uri: 'memory:///context' }, { uri: 'memory:///memories/user.md' }],
  });
});

it('compiles the snippet for the Claude Agent SDK', async () => {
  const readme = await readFile(new URL('../../clients/mcp/README.md', import.meta.url), 'utf8');
  const snippet = /^```ts\n(.*?)^```$/ms.exec(readme)?.[1] ?? '';
  expect(snippet).toContain('query(');
  const options = { module: 'nodenext', moduleResolution: 'nodenext', types: ['node'], skipLibCheck: true };
  await compile(directory, { 'agent.ts': snippet }, options);
});
