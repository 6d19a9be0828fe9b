import { listTenants, MAX_PAGE } from '../../../core/admin/tenant-operations.ts';
import { tenantId } from '../../../core/cli/arguments.ts';
import { type Caller, type Context, readItems } from '../../../core/cli/caller.ts';
import { type Cli, type CliCommand, command } from '../../../core/cli/cli-command.ts';
import type { Io } from '../../../core/cli/io.ts';
import { printLine, sanitizeForTerminal, table } from '../../../core/cli/output.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { amount } from '../../../core/lib/units.ts';
import { type Kind, kinds } from '../findings.ts';
import { getHealth } from '../health-operations.ts';

/** Number of items that are printed for each finding. `--json` prints more. */
const SHOWN = 10;

type Health = Awaited<ReturnType<typeof readHealth>>;

export const healthCommand = (cli: Cli) =>
  command(
    cli,
    'health',
    'Examine the files of a tenant: unread, stale, duplicate, similar, and large files, secrets, broken links, and crowded directories. Or count them in all tenants.',
  )
    .argument('[tenant]', 'tenant ID', tenantId)
    .option('--all', 'one line for each tenant')
    .option('--json', 'print JSON; with --all one object per line')
    .examples('memory-service health acme', 'memory-service health --all')
    .action((tenant: string | undefined, { all = false }: { all?: boolean }, command: CliCommand) => {
      if (all === (tenant !== undefined)) command.error('error: name a tenant, or use --all');
      return command.runConnected(async ({ caller }: Context) =>
        tenant === undefined ? countAll(caller) : toOutput(await readHealth(caller, tenant)),
      );
    });

function readHealth(caller: Caller, tenant: string) {
  return caller.call(getHealth, { params: { tenant } });
}

function toOutput(health: Health) {
  const { files, examined, findings } = health;
  const note =
    examined === files
      ? `Examined ${amount(files, 'file')}.`
      : `Examined ${examined} of ${amount(files, 'file')}: the others exceed the limits of a health check.`;
  const text = ({ stdout }: Io) => {
    const found = findings.filter(({ total }) => total > 0);
    if (found.length === 0) printLine(stdout, 'No findings.');
    for (const [i, { title, total, items, command }] of found.entries()) {
      const shown = items.slice(0, SHOWN);
      printLine(stdout, `${i === 0 ? '' : '\n'}${title}: ${total}`);
      for (const { path, detail } of shown)
        printLine(stdout, sanitizeForTerminal(stdout, `  ${path} (${detail})`));
      if (total > shown.length) printLine(stdout, `  and ${total - shown.length} more`);
      printLine(stdout, sanitizeForTerminal(stdout, `  > ${command}`));
    }
  };
  return { json: health, note, text };
}

async function countAll(caller: Caller) {
  const lines: ({ tenant: string; files: number; examined: number } & Record<Kind, number>)[] = [];
  const tenants = readItems(caller, listTenants, { query: { limit: MAX_PAGE } }, (page) => page.tenants);
  for await (const { id } of tenants) {
    try {
      const { findings, ...counts } = await readHealth(caller, id);
      const totals = Object.fromEntries(findings.map(({ kind, total }) => [kind, total]));
      lines.push({ ...counts, ...(totals as Record<Kind, number>) });
    } catch (error) {
      // The tenant was deleted after it was listed.
      if (!(error instanceof ServiceError && error.reason === 'no_such_tenant')) throw error;
    }
  }
  type Line = (typeof lines)[number];
  const columns = kinds.map(
    (kind) => [kind.toUpperCase().replace('_', ' '), (line: Line) => line[kind]] as const,
  );
  const text = table(lines, {
    TENANT: ({ tenant }) => tenant,
    FILES: ({ files }) => files,
    ...Object.fromEntries(columns),
  });
  return { lines, text };
}
