/** An MCP host: the official client, connected to `memory-service-mcp` from source. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { onTestFinished } from 'vitest';
import { type CliProcess, startProcess } from '../support/process.ts';

const COMMAND = ['--import', 'tsx', 'clients/mcp/src/cli.ts'];
const root = new URL('../..', import.meta.url);

/** Starts a server on a free port, and stops it after the test. Returns its URL. */
export async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the command for a server on standard input and output. */
export function stdioCommand(url: string, key: string, tenant?: string) {
  const env = {
    PATH: process.env.PATH ?? '',
    MEMORY_SERVICE_URL: url,
    MEMORY_SERVICE_API_KEY: key,
    ...(tenant === undefined ? {} : { MEMORY_SERVICE_TENANT: tenant }),
  };
  return { command: process.execPath, args: COMMAND, env, cwd: root.pathname };
}

/** Starts a server and connects a client to it. */
export async function connectStdio(url: string, key: string, tenant?: string): Promise<Client> {
  return connect(new StdioClientTransport(stdioCommand(url, key, tenant)));
}

export async function connectHttp(url: string, key: string): Promise<Client> {
  const headers = { Authorization: `Bearer ${key}` };
  return connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
}

async function connect(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return client;
}

export function runMcp(args: string[], env: Record<string, string> = {}): CliProcess {
  return startProcess(process.execPath, [...COMMAND, ...args], env);
}

/** Serves MCP on a free port. */
export async function startHttp(env: Record<string, string>): Promise<CliProcess & { url: string }> {
  const server = runMcp(['--http', '0', '--allowed-host', 'mcp.example'], env);
  const [, url = ''] = await server.line(/Serving MCP on (\S+)/);
  return { ...server, url };
}
