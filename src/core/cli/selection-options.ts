import type { Command } from 'commander';
import { parsePairs } from '../tenants/metadata.ts';
import type { TenantStatus } from '../tenants/tenant-listing.ts';
import { createListParser, metadataOption, statusOption, tenantId } from './arguments.ts';

/** Options that select a command's tenants. */
export interface SelectionOptions {
  all?: boolean;
  tenant?: string[];
  tenantSearch?: string;
  status?: TenantStatus;
  /** Pairs such as `plan=pro`. */
  metadata?: string[];
  except?: string[];
  foundBy?: string;
}

/** Options that select tenants. A command over tenants requires one of them, so that a typo does not select all. */
export function addSelectionOptions(command: Command): Command {
  return command
    .option('--all', 'all tenants')
    .option('--tenant <tenant>', 'only this tenant; may be repeated', createListParser(tenantId))
    .option('--tenant-search <text>', 'only tenants whose ID or name contains this, ignoring case')
    .addOption(statusOption())
    .addOption(metadataOption())
    .option('--except <tenant>', 'not this tenant; may be repeated', createListParser(tenantId))
    .option('--found-by <job>', 'only tenants with an outcome in this job, such as the hits of a find');
}

/** Returns the selection from the options, or reports a usage error if no tenants are selected. */
export function toSelection(
  { all, tenant, tenantSearch, status, metadata, except, foundBy }: SelectionOptions,
  command: Command,
) {
  if ([all, tenant, tenantSearch, status, metadata, foundBy].every((each) => each === undefined))
    command.error(
      'error: choose tenants with --tenant, --tenant-search, --status, --metadata or --found-by, or use --all',
    );
  return {
    ...(tenant && { ids: tenant }),
    ...(tenantSearch && { search: tenantSearch }),
    ...(status && { status }),
    ...(metadata && { metadata: parsePairs(metadata) }),
    ...(except && { except }),
    ...(foundBy && { found_by: foundBy }),
  };
}

/** Reports a usage error if the options select tenants although an argument names the tenant. */
export function rejectSelection(
  { all, tenant, tenantSearch, status, metadata, except, foundBy }: SelectionOptions,
  command: Command,
): void {
  if ([all, tenant, tenantSearch, status, metadata, except, foundBy].some((each) => each !== undefined))
    command.error('error: name one tenant, or choose tenants with options, not both');
}
