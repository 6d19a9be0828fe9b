import { z } from 'zod';
import { byActorOrSource } from '../history/version.ts';
import { readChanges } from '../incidents/changes.ts';
import { findJob } from '../incidents/jobs.ts';
import { storedTime } from '../lib/rfc3339.ts';
import {
  NOT_BY_BOTH,
  next,
  pageFields,
  readCursor,
  readTimes,
  tenantId,
  text,
  writeCursor,
} from './fields.ts';
import { noSuchJob, selectionFields, selectionOf } from './job-schemas.ts';
import { defineOperation } from './operation.ts';
import { entryRecord, id, logFilter, versionFilter, versionSchema } from './versions.ts';

const tenantVersionSchema = z
  .object({ tenant: tenantId, ...versionSchema.shape })
  .meta({ id: 'TenantVersion', description: 'A change to a file of a tenant.' });

/** All pages use the times of the first page, because a duration counts back from the time of the request. */
const position = z.strictObject({
  tenant: tenantId,
  version: id.nullable(),
  since: storedTime.optional(),
  until: storedTime.optional(),
});

const { search, status, metadata, found_by } = selectionFields;

/** Reads JSON of a query string. An invalid text is left to the schema. */
function parsed(given: unknown): unknown {
  try {
    return typeof given === 'string' ? JSON.parse(given) : given;
  } catch {
    return given;
  }
}

export const listAllVersions = defineOperation({
  id: 'listAllVersions',
  method: 'GET',
  url: '/versions',
  summary: 'List the versions of the files of many tenants, a page at a time',
  description:
    'Sorted by tenant, newest first in each tenant. A page ends after a second or two, so it can have fewer versions than `limit`, or none. A key limited to certain tenants sees only their versions. Drafts are omitted.',
  tag: 'incidents',
  scope: 'handler',
  query: z
    .strictObject({
      tenants: text(20_000)
        .optional()
        .meta({ description: 'Only these tenants, separated by commas.', examples: ['acme,globex'] }),
      search,
      status,
      metadata: z.preprocess(parsed, metadata).meta({
        description: 'Pairs that the metadata of the tenant contains, as JSON.',
        examples: ['{"plan":"pro"}'],
      }),
      found_by,
      source: text(255)
        .min(1)
        .optional()
        .meta({ description: 'Only versions written with keys of this source.' }),
      ...versionFilter,
      ...pageFields(200, 50),
    })
    .refine(...NOT_BY_BOTH),
  response: {
    description: 'A page.',
    schema: z.object({ versions: z.array(tenantVersionSchema), next }),
  },
  errors: [noSuchJob],
  isHeavy: true,
  async run({ database, query, administrator }) {
    const { tenants, search, status, metadata, found_by: foundBy, source, limit, after, ...given } = query;
    const scope = administrator.onlyTenants;
    if (foundBy !== undefined) await findJob(database, foundBy, scope);
    const ids = tenants?.split(',').filter((each) => each !== '');
    const selected = selectionOf({ ids, search, status, metadata, found_by: foundBy }, scope);
    const from = readCursor(position, after);
    const { since, until } = from ?? (await readTimes(database, { since: given.since, until: given.until }));
    const by = byActorOrSource({ by: given.by, source });
    const filter = logFilter({ ...given, by, since, until });
    const page = await readChanges(database, selected, filter, from, limit);
    return {
      versions: page.changes.map(({ tenant, ...entry }) => ({ tenant, ...entryRecord(entry) })),
      next: writeCursor(page.next && { ...page.next, since, until }),
    };
  },
});
