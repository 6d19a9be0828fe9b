import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { findCommand } from '../memory/commands/index.ts';
import { noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import { tenantParams } from './fields.ts';

export const runCommand = defineOperation({
  id: 'runCommand',
  method: 'POST',
  url: '/tenants/:tenant/execute',
  summary: 'Run a memory command as an agent would',
  description:
    'Returns the string that a model would read, also for invalid input. A write is recorded as yours. Mounts of tenants outside the scope of your key are not shown, and mounts with `propose` are read-only.',
  tag: 'memory',
  params: tenantParams,
  body: z.record(z.string(), z.unknown()).meta({
    description: 'An input for the memory tool (docs/contract-commands.md).',
    examples: [{ command: 'view', path: '/memories' }],
  }),
  response: {
    description: 'The result.',
    schema: z.object({
      content: z.string().meta({ description: 'The text for the model.' }),
      is_error: z.boolean().meta({ description: 'Whether the result reports a failure.' }),
    }),
  },
  errors: [noSuchTenant, new ServiceError('tenant_suspended', 'acme')],
  async run({ services, tenant: { id: tenant }, body: input, origin, administrator: { onlyTenants }, note }) {
    note({ details: { command: findCommand(input.command)?.name ?? 'unknown' } });
    // The import is deferred because the command line loads each operation.
    const { runOperatorCommand } = await import('../agents/operator-command.ts');
    const command = { tenant, input, origin, onlyTenants };
    const { content, isError } = await runOperatorCommand(await services(), command);
    return { content, is_error: isError };
  },
});
