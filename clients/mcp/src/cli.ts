#!/usr/bin/env node
/**
 * The command `memory-service-mcp`. Standard output is reserved for the protocol, so messages for people are printed to
 * standard error.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { MemoryServiceError } from 'memory-service-client';
import packageJson from '../package.json' with { type: 'json' };
import { createHttpServer } from './http.ts';
import { readInstructions } from './instructions.ts';
import { serverFor } from './memory-server.ts';
import { createClient, nameSettings, readSettings, type Settings, USAGE, UsageError } from './settings.ts';
import { StdioSubscriptions } from './subscriptions.ts';

/** Maximum size of a message on standard input. The service limits the size of a call itself. */
const MAX_MESSAGE_BYTES = 64 * 2 ** 20;

try {
  const settings = readSettings(process.argv.slice(2), process.env);
  if (settings === 'help') process.stdout.write(USAGE);
  else if (settings === 'version') process.stdout.write(`${packageJson.version}\n`);
  else await serve(settings);
} catch (error) {
  // The client's `TypeError`s name the wrong option, and never contain the key.
  const isUsage = error instanceof UsageError || error instanceof TypeError;
  if (!isUsage && !(error instanceof MemoryServiceError) && !isSystemError(error)) throw error;
  process.stderr.write(`memory-service-mcp: ${nameSettings(error.message)}\n`);
  process.exitCode = isUsage ? 2 : 1;
}

/** Whether an error is one that the user can fix, such as a port in use. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

async function serve({ client, http }: Settings): Promise<void> {
  const memory = createClient(client);
  if (http === undefined) {
    // Checked at the start, because a host shows a failed start and standard error to its user, but only the model
    // reads the result of a call.
    await memory.check();
    const instructions = await readInstructions(memory);
    const options = { maxBufferSize: MAX_MESSAGE_BYTES };
    const transport = new StdioServerTransport(process.stdin, process.stdout, options);
    serveStdio(({ era }) => serverFor(memory, era, instructions), { transport });
    new StdioSubscriptions(client, transport).attach();
    return;
  }

  const stopping = new AbortController();
  const server = createHttpServer({ client, ...http, stopping: stopping.signal });
  server.listen(http.port, http.host);
  await once(server, 'listening');
  const { address, family, port } = server.address() as AddressInfo;
  const host = family === 'IPv6' ? `[${address}]` : address;
  process.stderr.write(`Serving MCP on http://${host}:${port}/mcp\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      server.close();
      stopping.abort();
    });
  }
}
