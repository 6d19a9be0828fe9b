import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config.ts';
import type { Database } from '../postgres/database.ts';
import { readTenants, type TenantFilter, type TenantOrder } from '../tenants/listing.ts';
import type { ListedTenant } from '../tenants/listing-queries.ts';
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
      'only tenants that use at least this percentage of their file or byte limit',
      percentage,
    )
    .option('--suspended', 'only suspended tenants');
}

export function isSelective({ prefix, search, nearLimit, suspended }: Selection): boolean {
  return [prefix, search, nearLimit, suspended].some((each) => each !== undefined);
}

/** Returns the selected tenants, up to a limit. */
export async function selectTenants(
  database: Database,
  config: Config,
  selection: Selection,
  { order = 'id', limit }: { order?: TenantOrder; limit?: number | undefined } = {},
): Promise<ListedTenant[]> {
  const selected: ListedTenant[] = [];
  for await (const tenant of readTenants(database, config, { ...filterOf(selection), order })) {
    selected.push(tenant);
    if (selected.length === limit) break;
  }
  return selected;
}

function filterOf({ prefix, search, nearLimit, suspended }: Selection): TenantFilter {
  return { prefix, search, nearLimit, status: suspended ? 'suspended' : undefined };
}

function nonEmpty(value: string): string {
  if (value !== '') return value;
  throw new InvalidArgumentError('Give at least one character.');
}
