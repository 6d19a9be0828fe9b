import { InvalidArgumentError } from 'commander';
import { pathProblemText } from '../memory/messages.ts';
import { type MemoryPath, parsePath } from '../memory/path.ts';
import { TENANT_ID, TENANT_ID_RULE } from '../tenants/tenant-id.ts';

/*
 * Commander argument parsers: each throws InvalidArgumentError, which is a usage error.
 */

export function tenantId(value: string): string {
  if (TENANT_ID.test(value)) return value;
  throw new InvalidArgumentError(`A tenant ID is ${TENANT_ID_RULE}`);
}

/** The ID of a new tenant. One that looks like an option would be awkward in every command; existing ones can be given after `--`. */
export function newTenantId(value: string): string {
  if (!value.startsWith('-')) return tenantId(value);
  throw new InvalidArgumentError('A new tenant ID must not start with "-".');
}

export function memoryPath(value: string): MemoryPath {
  const parsed = parsePath(value);
  if (parsed.ok) return parsed.path;
  throw new InvalidArgumentError(pathProblemText(parsed.problem));
}

export function percentage(value: string): number {
  if (/^\d{1,3}%?$/.test(value)) return Number.parseInt(value, 10);
  throw new InvalidArgumentError('Use a percentage, for example 90.');
}

export function positiveInteger(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Use a whole number of at least 1.');
}
