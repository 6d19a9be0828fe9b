import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { type Copied, copyTenant, renameTenant } from '../transfer/copy.ts';
import { newTenantId, tenantId } from './arguments.ts';
import { amount, type Io } from './io.ts';
import { operatorOrigin } from './operator.ts';
import { printJson, printLine } from './output.ts';
import { type Open, withDatabase } from './session.ts';
import { noTenant } from './tenant-lookup.ts';

/** `tenants copy` and `tenants rename`. */
export function registerTenantCopyCommands(tenants: Command, open: Open, io: Io): void {
  const forms = [
    {
      name: 'copy',
      description:
        'Make a tenant with the files and settings of another, as they are at one moment. Keys and history are not copied.',
      work: (database: Database, from: string, to: string) =>
        copyTenant(database, from, to, operatorOrigin()),
      done: 'Copied',
      also: '',
    },
    {
      name: 'rename',
      description:
        'Give a tenant another id: its files, history, settings, keys, and stored answers, all at once or not at all. Its clients that name a tenant themselves have to name the new one.',
      work: renameTenant,
      done: 'Renamed',
      also: ' Keys work for the new tenant within AUTH_CACHE_SECONDS.',
    },
  ];
  for (const { name, description, work, done, also } of forms) {
    tenants
      .command(name)
      .description(`${description} The tenant's writers wait meanwhile.`)
      .argument('<tenant>', 'its id', tenantId)
      .argument('<new>', 'the id of the new tenant', newTenantId)
      .option('--json', 'as JSON')
      .addHelpText('after', `\nExample:\n  memory-service tenants ${name} acme acme-2026`)
      .action((from: string, to: string, { json }: { json?: boolean }) =>
        withDatabase(open, async ({ database }) => {
          const copied = expectCopied(await work(database, from, to), from, to);
          if (json) return printJson(io.stdout, { from, to, ...copied });
          const { files, bytes, keys } = copied;
          const moved = name === 'rename' ? `, ${amount(keys, 'key')}` : '';
          printLine(
            io.stdout,
            `${done} tenant ${from} to ${to}: ${amount(files, 'file')} (${amount(bytes, 'byte')})${moved}.${also}`,
          );
        }),
      );
  }
}

function expectCopied(outcome: Copied, from: string, to: string) {
  switch (outcome.kind) {
    case 'unknown_tenant':
      throw noTenant(from);
    case 'exists':
      throw new OperatorError(`There is a tenant ${to} already. Choose another id, or delete it first.`);
    case 'copied': {
      const { kind: _, ...copied } = outcome;
      return copied;
    }
  }
}
