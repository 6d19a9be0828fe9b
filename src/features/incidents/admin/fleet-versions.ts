import { z } from 'zod';
import { defineOperation } from '../../../core/admin/admin-operation.ts';
import {
  NOT_BY_BOTH,
  next,
  pageFields,
  readCursor,
  readTimes,
  repeatable,
  tenantId,
  writeCursor,
} from '../../../core/admin/fields.ts';
import { metadataQuery } from '../../../core/admin/tenant-filter.ts';
import {
  entryRecord,
  id,
  logFilter,
  versionFilter,
  versionSchema,
} from '../../../core/admin/version-operations.ts';
import { storedTime } from '../../../core/lib/rfc3339.ts';
import { parsePairs } from '../../../core/tenants/metadata.ts';
import { findJob } from '../jobs.ts';
import { readChanges } from '../tenant-changes.ts';
import { MAX_NAMED, noSuchJob, selectionFields, toTenantSelection } from './job-schemas.ts';

const tenantVersionSchema = z
  .object({ tenant: tenantId, ...versionSchema.shape })
  .meta({ id: 'TenantVersion', description: "A change to a tenant's file." });

/** All pages use the times from the first page, because a duration counts back from the request time. */
const position = z.strictObject({
  tenant: tenantId,
  version: id.nullable(),
  since: storedTime.optional(),
  until: storedTime.optional(),
});

const { search, status, found_by } = selectionFields;
const tenants = repeatable(tenantId, MAX_NAMED).optional();

export const listAllVersions = defineOperation({
  id: 'listAllVersions',
  method: 'GET',
  url: '/versions',
  summary: 'List file versions in many tenants, a page at a time',
  description:
    'Sorted by tenant, newest first in each tenant. A page ends after a second or two, so it can have fewer versions than `limit`, or none. A key limited to certain tenants sees only their versions. Drafts are omitted.',
  tag: 'incidents',
  scope: 'handler',
  query: z
    .strictObject({
      tenant: tenants.meta({ description: 'Only this tenant. May be repeated.', examples: [['acme']] }),
      search,
      status,
      metadata: metadataQuery,
      except: tenants.meta({ description: 'Not this tenant. May be repeated.', examples: [['globex']] }),
      found_by,
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
    const { tenant: ids, search, status, metadata: pairs, except, found_by, limit, after, ...given } = query;
    const scope = administrator.onlyTenants;
    if (found_by !== undefined) await findJob(database, found_by, scope);
    const metadata = pairs && parsePairs(pairs);
    const selected = toTenantSelection({ ids, search, status, metadata, except, found_by }, scope);
    const from = readCursor(position, after);
    const { since, until } = from ?? (await readTimes(database, { since: given.since, until: given.until }));
    const filter = logFilter({ ...given, since, until });
    const page = await readChanges(database, selected, filter, from, limit);
    return {
      versions: page.changes.map(({ tenant, ...entry }) => ({ tenant, ...entryRecord(entry) })),
      next: writeCursor(page.next && { ...page.next, since, until }),
    };
  },
});
