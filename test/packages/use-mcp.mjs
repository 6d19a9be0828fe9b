/** Runs where only memory-service-mcp and the official MCP client, as the host, are installed. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const { PATH, MEMORY_SERVICE_URL } = process.env;
const host = new Client({ name: 'packages', version: '1' });
const args = ['--no-install', 'memory-service-mcp'];
await host.connect(new StdioClientTransport({ command: 'npx', args, env: { PATH, MEMORY_SERVICE_URL } }));
const { tools } = await host.listTools();
console.log(tools.map(({ name }) => name).join(' '));
const path = '/memories/mcp.md';
for (const input of [
  { command: 'create', path, file_text: 'Lives in Lyon.' },
  { command: 'view', path },
]) {
  const { content } = await host.callTool({ name: 'memory', arguments: input });
  console.log(content.map(({ text }) => text).join(''));
}
await host.close();
