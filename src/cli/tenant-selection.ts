import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config.ts';
import { effectiveSettings, fullness } from '../tenants/effective-settings.ts';
import type { TenantRow } from '../tenants/queries.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { percentage } from './arguments.ts';

/** Which tenants a command is about; all conditions hold at once. */
export interface Selection {
  prefix?: string;
  search?: string;
  nearLimit?: number;
  suspended?: boolean;
}

export function addSelectionOptions(command: Command): Command {
  return command
    .option('--prefix <text>', 'only tenants whose id begins so', nonEmpty)
    .option('--search <text>', 'only tenants whose id contains this, in upper or lower case', nonEmpty)
    .option('--near-limit <percent>', 'only tenants that use so much of their files or bytes', percentage)
    .option('--suspended', 'only suspended tenants');
}

export function isSelective({ prefix, search, nearLimit, suspended }: Selection): boolean {
  return [prefix, search, nearLimit, suspended].some((each) => each !== undefined);
}

/** In the order of their ids. */
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
