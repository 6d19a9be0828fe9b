import { InvalidArgumentError, Option } from 'commander';
import { ServiceError } from '../errors/errors.ts';
import { parseTime } from '../history/time-text.ts';
import { isVersionId } from '../history/version.ts';
import { NAME_RULE, nameText } from '../lib/text-forms.ts';
import { parseQuantity } from '../lib/units.ts';
import { pathProblemText } from '../memory/messages.ts';
import { type MemoryPath, parsePath } from '../memory/path.ts';
import { NEW_TENANT_ID, NEW_TENANT_ID_RULE, TENANT_ID, TENANT_ID_RULE } from '../tenants/ids.ts';
import { pairsProblem } from '../tenants/metadata.ts';
import { TENANT_STATUSES } from '../tenants/tenant-listing.ts';

/*
 * Parsers for commander arguments. Each parser throws InvalidArgumentError, which commander reports as a usage error.
 */

export function tenantId(value: string): string {
  if (TENANT_ID.test(value)) return value;
  throw new InvalidArgumentError(`A tenant ID is ${TENANT_ID_RULE}`);
}

/** Parses a new tenant's ID. Only existing IDs may start with a dash, and such an ID has to follow `--`. */
export function newTenantId(value: string): string {
  if (NEW_TENANT_ID.test(value)) return value;
  throw new InvalidArgumentError(`A new tenant ID must be ${NEW_TENANT_ID_RULE}.`);
}

/** Returns a parser for a label, source, title, or display name. */
export const createNameParser = (maxLength: number, minLength = 0) => {
  const schema = nameText(maxLength).min(minLength);
  return (value: string): string => {
    if (schema.safeParse(value).success) return value;
    const length = minLength > 0 ? `${minLength} to ${maxLength}` : `at most ${maxLength}`;
    throw new InvalidArgumentError(`Use ${length} characters. It ${NAME_RULE}.`);
  };
};

export function memoryPath(value: string): MemoryPath {
  const parsed = parsePath(value);
  if (parsed.ok) return parsed.path;
  throw new InvalidArgumentError(pathProblemText(parsed.problem));
}

export function parsePercentage(value: string): number {
  if (/^[1-9]\d{0,2}%?$/.test(value)) return Number.parseInt(value, 10);
  throw new InvalidArgumentError('Use a percentage, for example 90.');
}

export function positiveInteger(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Use a whole number of at least 1.');
}

export function parseDays(value: string): number {
  const days = parseQuantity(value, 'days');
  if (days !== undefined && days >= 1 && days < 1_000_000) return days;
  throw new InvalidArgumentError('Use a whole number of days of at least 1, such as 30, 30d or 4w.');
}

export const TIME_HELP = `
<time> is an ISO 8601 time (2026-11-22, 2026-11-22T09:30:00Z; UTC if it has no offset) or a duration before now (30s, 90m, 2h, 3d, 1w).`;

/** Checks that the value is a time, and returns the value unchanged. */
export function timeArgument(value: string): string {
  try {
    parseTime(value, new Date());
    return value;
  } catch (error) {
    throw error instanceof ServiceError ? new InvalidArgumentError(error.message) : error;
  }
}

/** Help for an argument with a version's ID. */
export const VERSION_HELP = 'ID of the version, from `log`, or its first characters';

/** Parses a version's ID, or its first characters. `fullVersionId` completes the ID. */
export function versionArgument(value: string): string {
  if (isVersionId(value)) return value;
  throw new InvalidArgumentError(
    'Use the ID of a version from `memory-service log`, or at least its first four characters.',
  );
}

/** Returns a parser for an option that may be repeated. */
export function createListParser<T>(parse: (value: string) => T) {
  return (value: string, before: T[] = []): T[] => [...before, parse(value)];
}

export const statusOption = () =>
  new Option('--status <status>', 'only tenants in this state').choices(TENANT_STATUSES);

export const metadataOption = () =>
  new Option('--metadata <key=value>', 'only tenants with this metadata; may be repeated').argParser(
    (value, before: string[] = []) => {
      const pairs = [...before, value];
      const problem = pairsProblem(pairs);
      if (problem === null) return pairs;
      throw new InvalidArgumentError(`The pairs ${problem}`);
    },
  );

/** Creates an option for all of a source's actors, as an alternative to `--by`. */
export function sourceOption(description: string): Option {
  return new Option('--source <source>', description).conflicts('by');
}
