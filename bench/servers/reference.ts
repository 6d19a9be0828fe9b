/** A, the reference: the SDK's class behind a handler, with a directory per tenant. */
import { join } from 'node:path';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import fastify from 'fastify';
import type { Input } from '../support/workloads.ts';

const { DIRECTORY = '', PORT } = process.env;
const tools = new Map<string, Promise<BetaLocalFilesystemMemoryTool>>();

function openTool(tenant: string): Promise<BetaLocalFilesystemMemoryTool> {
  let tool = tools.get(tenant);
  if (tool === undefined) {
    tool = BetaLocalFilesystemMemoryTool.init(join(DIRECTORY, tenant));
    tools.set(tenant, tool);
  }
  return tool;
}

const app = fastify();
app.post('/execute', async (request) => {
  const input = request.body as Input;
  const tool = await openTool(String(request.headers['x-tenant-id']));
  try {
    return { content: String(await tool[input.command as 'view'](input as never)), is_error: false };
  } catch (error) {
    return { content: error instanceof Error ? error.message : String(error), is_error: true };
  }
});
await app.listen({ host: '127.0.0.1', port: Number(PORT) });
