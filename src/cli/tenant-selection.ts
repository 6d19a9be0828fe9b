import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config.ts';
import { effectiveSettings, fullness } from '../tenants/effective-settings.ts';
import type { TenantRow } from '../tenants/queries.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { percentage } from './arguments.ts';

/** Selects tenants that meet all of the conditions. */
export interface Selection {
  prefix?: string;
  search?: string;
  nearLimit?: number;
  suspended?: boolean;
}

export function addSelectionOptions(command: Command): Command {
  return command
    .option('--prefix <text>', 'only tenants whose ID starts with this', nonEmpty)
    .option('--search <text>', 'only tenants whose ID contains this, ignoring case', nonEmpty)
    .option(
      '--near-limit <percent>',
      'only tenants that use at least this much of a limit on files or bytes',
      percentage,
    )
    .option('--suspended', 'only suspended tenants');
}

export function isSelective({ prefix, search, nearLimit, suspended }: Selection): boolean {
  return [prefix, search, nearLimit, suspended].some((each) => each !== undefined);
}

/** Returns the selected tenants in the order of their IDs. */
export async function selectTenants(
  tenants: Tenants,
  config: Config,
  selection: Selection,
): Promise<TenantRow[]> {
  const selected: TenantRow[] = [];
  for await (const row of tenants.list()) if (matches(row, config, selection)) selected.push(row);
  return selected;
}

function matches(
  row: TenantRow,
  config: Config,
  { prefix = '', search = '', nearLimit, suspended }: Selection,
): boolean {
  if (!row.id.startsWith(prefix)) return false;
  if (!row.id.toLowerCase().includes(search.toLowerCase())) return false;
  if (suspended && row.suspendedAt === null) return false;
  if (nearLimit === undefined) return true;
  const used = fullness(row, effectiveSettings(row, config));
  return used !== undefined && used.percent >= nearLimit;
}

function nonEmpty(value: string): string {
  if (value !== '') return value;
  throw new InvalidArgumentError('Give at least one character.');
}
