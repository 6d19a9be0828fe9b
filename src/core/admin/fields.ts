import { z } from 'zod';
import { databaseInstant } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/errors.ts';
import { parseTime } from '../history/time-text.ts';
import { SOURCE } from '../history/version.ts';
import { decodeCursor, encodeCursor } from '../lib/cursor.ts';
import { storedTime } from '../lib/rfc3339.ts';
import { storableText as text } from '../lib/text-forms.ts';
import { pathProblemText } from '../memory/messages.ts';
import { type MemoryPath, parsePath, ROOT } from '../memory/path.ts';
import { NEW_TENANT_ID, NEW_TENANT_ID_RULE, TENANT_ID, TENANT_ID_RULE } from '../tenants/ids.ts';

/* Parameters and fields shared by several routes. Each schema rejects unknown fields. */

const MAX_TEXT = 1000;

export { text };

export const tenantId = z
  .string()
  .regex(TENANT_ID, `must be ${TENANT_ID_RULE}`)
  .meta({ examples: ['acme'] });

export const newTenantId = z
  .string()
  .regex(NEW_TENANT_ID, `must be ${NEW_TENANT_ID_RULE}`)
  .meta({ examples: ['acme'] });

export const tenantParams = z.strictObject({ tenant: tenantId });

export const memoryPath = text(5000)
  .transform((given, context): MemoryPath => {
    const parsed = parsePath(given);
    if (parsed.ok) return parsed.path;
    context.addIssue({ code: 'custom', message: `is not valid: ${pathProblemText(parsed.problem)}` });
    return z.NEVER;
  })
  .meta({ examples: ['/memories/notes.md'] });

export const pathOrRoot = memoryPath.default(ROOT);

/** A time as the caller writes it. `parseTime` reads the text. */
export const givenTime = text(64).meta({
  description:
    'An ISO 8601 time (`2026-11-22T09:30:00Z`; UTC if it has no offset), or a duration before now (`30s`, `90m`, `2h`, `3d`, `1w`).',
  examples: ['2h'],
});

export const time = z
  .string()
  .meta({ id: 'Time', description: 'ISO 8601, UTC.', examples: ['2026-11-22T09:30:00.123456Z'] });

export const versionId = z
  .guid()
  .transform((id) => id.toLowerCase())
  .meta({ examples: ['0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52'] });

export const access = z.enum(['read_write', 'propose', 'operate', 'read_only']).meta({
  description:
    '`propose` (tenant keys): writes go into a draft that a reviewer merges. `operate` (admin keys): everything except managing keys, mounts, webhooks, and texts kept out of all tenants, and creating, archiving, copying, renaming, or deleting tenants.',
});

/** Time for which a replaced secret works, at most seven days. */
export const overlapSeconds = z
  .int()
  .min(0)
  .max(7 * 24 * 60 * 60);

/** A number in a query string. */
export const count = (min: number, max: number) =>
  z.preprocess(
    (given) => (typeof given === 'string' && /^-?\d{1,9}$/.test(given) ? Number(given) : given),
    z.int().min(min).max(max),
  );

/** `true` or `false` in a query string. */
export const flag = z.preprocess(
  (given) => (given === 'true' ? true : given === 'false' ? false : given),
  z.boolean(),
);

/** A query parameter that may be repeated, for up to `max` values. */
export const repeatable = <Item extends z.ZodType>(item: Item, max: number) =>
  z.preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(item).min(1).max(max));

/** Parameters for a paginated list. */
export const pageFields = (maxLimit: number, defaultLimit: number) => ({
  limit: count(1, maxLimit).default(defaultLimit),
  after: text(MAX_TEXT).optional().meta({ description: 'The `next` from the previous page.' }),
});

export const next = z.string().nullable().meta({
  description:
    'Pass it as `after`, with the same other parameters, to get the next page; null on the last page.',
});

export const source = z
  .string()
  .optional()
  .meta({
    description: "The source of the key's writes, as declared by its operator.",
    examples: ['web'],
  });

export const actor = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('api_key'), id: z.string(), label: z.string(), source }),
    z.object({ type: z.literal('admin_key'), id: z.string(), label: z.string(), source }),
    z.object({ type: z.literal('user'), id: z.string(), label: z.string() }),
    z.object({ type: z.literal('jwt'), subject: z.string().nullable() }),
    z.object({ type: z.literal('operator'), name: z.string() }),
    z.object({ type: z.literal('session'), id: z.string() }),
    z.object({ type: z.literal('system'), job: z.string() }),
    z.object({ type: z.literal('anonymous') }),
  ])
  .meta({ id: 'Actor', description: 'The actor that made a change.' });

/** A page's position in a list by time. */
export const timePosition = z.strictObject({ time: storedTime, id: z.guid() });

/** Encodes the next page's position as an opaque text, or null after the last page. */
export function writeCursor(position: unknown): string | null {
  return position === null ? null : encodeCursor(position);
}

/** A filter by an actor, or by all of a source's actors. Use it with `NOT_BY_BOTH`. */
export const actorFields = {
  by: text(255)
    .min(1)
    .refine((by) => !by.startsWith(SOURCE), `must not begin with \`${SOURCE}\`: use \`source\` for a source.`)
    .optional()
    .meta({
      description:
        "A key's id or label, a token's subject, a session's id, an operator's or a job's name, a draft's id, `operator`, or `anonymous`.",
    }),
  source: text(255).min(1).optional().meta({
    description: "The keys' source, as declared by their operators. Not together with `by`.",
  }),
};

/** Arguments for `refine`: rejects a filter by an actor together with a source. */
export const NOT_BY_BOTH = [
  ({ by, source }: { by?: string | undefined; source?: string | undefined }) =>
    by === undefined || source === undefined,
  { error: 'requires `by` or `source`, not both.' },
] as const;

/**
 * Decodes a position that `writeCursor` encoded.
 *
 * @throws ServiceError 400 if the text is not a valid cursor
 */
export function readCursor<T>(schema: z.ZodType<T>, given: string | undefined): T | null {
  if (given === undefined) return null;
  const position = decodeCursor(schema, given);
  if (position === undefined) throw new ServiceError('invalid_cursor');
  return position;
}

/**
 * Parses the given times, and keeps omitted times undefined. A duration counts back from the database's clock, which
 * also sets the times of changes.
 *
 * @throws ServiceError if a text is not a time
 */
export async function readTimes<Given extends Record<string, string | undefined>>(
  database: Database,
  given: Given,
): Promise<Given> {
  const isEmpty = Object.values(given).every((text) => text === undefined);
  return isEmpty ? given : parseTimes(given, await databaseInstant(database));
}

/** Parses the given times like `readTimes`, but counts durations back from `now`. */
export function parseTimes<Given extends Record<string, string | undefined>>(
  given: Given,
  now: string,
): Given {
  const entries = Object.entries(given).map(([name, text]) => [
    name,
    text === undefined ? undefined : parseTime(text, new Date(now)),
  ]);
  return Object.fromEntries(entries) as Given;
}
