import { tenantId } from '../../../core/cli/arguments.ts';
import { type Cli, command } from '../../../core/cli/cli-command.ts';
import { sanitizeForTerminal } from '../../../core/cli/output.ts';
import { readTenantContext } from '../context-operation.ts';
import { contextAsText } from '../context-text.ts';

interface ContextCommandOptions {
  since?: string;
  readOnly?: boolean;
  json?: boolean;
}

export const contextCommand = (cli: Cli) =>
  command(cli, 'context', "Print the context for a tenant's agents: guidance, and a snapshot of the memory.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--since <version>', 'print only the changes since this version, which --json prints')
    .option('--read-only', 'for an agent with a read-only key')
    .option('--json', 'print JSON')
    .examples('memory-service context acme', 'memory-service context acme --json')
    .run(async ({ caller, io }, tenant: string, { since, readOnly }: ContextCommandOptions) => {
      const query = {
        ...(since !== undefined && { since }),
        access: readOnly ? 'read_only' : 'read_write',
      } as const;
      const found = await caller.call(readTenantContext, { params: { tenant }, query });
      const text = contextAsText(found) || 'Nothing has changed.';
      return { json: found, text: sanitizeForTerminal(io.stdout, text) };
    });
