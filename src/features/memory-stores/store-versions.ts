import type { z } from 'zod';
import type { Database } from '../../core/database/database.ts';
import { defineQuery } from '../../core/database/query.ts';
import { hasReason } from '../../core/errors/errors.ts';
import { isShownSql } from '../../core/files/read-queries.ts';
import type { History } from '../../core/history/history.ts';
import { eraseVersion } from '../../core/history/redact.ts';
import { AFTER, COLUMNS, toVersion, type Version, type VersionRow } from '../../core/history/version.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import { FIRST_ID, LAST_ID } from '../../core/lib/uuids.ts';
import {
  hidesPaths,
  isReadable,
  type Rights,
  type ShownParams,
  shownParams,
} from '../../core/memory/rights.ts';
import { toUuid } from '../../core/tenants/store-ids.ts';
import { notFound, stillCurrent } from './store-errors.ts';
import { defineOperation } from './store-operation.ts';
import { FULL_PAGE_BYTES, fittingItems, fullPageBytes, positions, readCursor } from './store-pages.ts';
import { done, pageSchema, versionRecord, versionSchema } from './store-responses.ts';
import { MAX_FULL_PAGE, memoryView, storeParams, versionList, versionParams } from './store-schemas.ts';

/** Filter for a version list. Null means any value. The ISO 8601 times are inclusive. */
type VersionFilter = {
  operation: 'created' | 'modified' | 'deleted' | null;
  apiKey: string | null;
  serviceAccount: string | null;
  session: string | null;
  since: string | null;
  until: string | null;
};

type VersionPageParams = { tenant: string } & VersionFilter &
  Pick<ShownParams, 'shown' | 'hidden'> & {
    before: string | null;
    limit: number;
  };

/**
 * Returns the statement for a page: versions before `before`, newest first. IDs begin with the time. A rename counts as
 * a modification.
 */
const versionsText = (ofMemory: '' | 'AND v.memory_id = $memory::text::uuid') => `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $tenant
    AND v.id >= COALESCE(memory_first_id($since::text::timestamptz), '${FIRST_ID}')
    AND v.id < COALESCE($before::text::uuid, '${LAST_ID}') AND v.id < COALESCE(${AFTER('$until')}, '${LAST_ID}')
    AND ($operation::text IS NULL
      OR CASE v.operation WHEN 'renamed' THEN 'modified' ELSE v.operation END = $operation::text)
    AND ($apiKey::text IS NULL OR (v.origin #>> '{actor,type}' IN ('api_key', 'admin_key') AND v.origin #>> '{actor,id}' = $apiKey::text))
    AND ($serviceAccount::text IS NULL OR (v.origin #>> '{actor,type}' = 'jwt' AND v.origin #>> '{actor,subject}' = $serviceAccount::text))
    AND ($session::text IS NULL OR (v.origin #>> '{actor,type}' = 'session' AND v.origin #>> '{actor,id}' = $session::text))
    AND ($hidden::text[] = '{}' OR v.path IS NOT NULL) AND ${isShownSql('v.path')}
    ${ofMemory}
  ORDER BY v.id DESC LIMIT $limit::integer
) AS v
ORDER BY v.id DESC
`;

const listStoreVersionsQuery = defineQuery<VersionPageParams, VersionRow>(
  'list_store_versions',
  versionsText(''),
);

/** Lists one memory's versions. The separate statement lets the planner use the index on the memory. */
const listMemoryVersionsQuery = defineQuery<VersionPageParams & { memory: string }, VersionRow>(
  'list_memory_versions',
  versionsText('AND v.memory_id = $memory::text::uuid'),
);

export const listMemoryVersions = defineOperation({
  id: 'listMemoryVersions',
  method: 'GET',
  url: '/:memory_store_id/memory_versions',
  access: 'read',
  summary: 'List versions, the newest first',
  description: `With \`view=full\`, a page has at most ${MAX_FULL_PAGE} items, and fewer where they are large.`,
  tag: 'memory stores',
  params: storeParams,
  query: versionList,
  response: done(pageSchema(versionSchema)),
  contentBytes: fullPageBytes,
  run: async ({ database, history, stores, store, tenant, query, principal: { rights } }) => {
    const isFull = query.view === 'full';
    const limit = isFull ? Math.min(query.limit, MAX_FULL_PAGE) : query.limit;
    const [, before = null] = readCursor(positions.versions, query.page) ?? [];
    const found = await listVersions(database, tenant, { ...query, rights }, before, limit + 1);
    if (found.length === 0 && (await stores.find(store)) === undefined) throw notFound('memory store');
    const page = takeFitting(found.slice(0, limit), isFull ? FULL_PAGE_BYTES : Number.POSITIVE_INFINITY);
    const contents = isFull ? await history.contents(tenant, page.map(withVersionId)) : new Map();
    const data = fittingItems(
      page.map((version) => versionRecord(store, version, contents.get(version.id) ?? null)),
    );
    const last = found.length > data.length ? page[data.length - 1] : undefined;
    return { data, next_page: last === undefined ? null : encodeCursor(['versions', last.id]) };
  },
});

const ofVersion = { params: versionParams, response: done(versionSchema) };
const url = '/:memory_store_id/memory_versions/:memory_version_id';

export const retrieveMemoryVersion = defineOperation({
  id: 'retrieveMemoryVersion',
  method: 'GET',
  url,
  access: 'read',
  summary: 'Retrieve a version',
  tag: 'memory stores',
  ...ofVersion,
  query: memoryView,
  errors: [notFound('memory version')],
  run: async ({ history, store, tenant, params, query: { view = 'full' }, principal: { rights } }) => {
    const version = await requireVersion(history, tenant, versionUuid(params));
    if (hidesPaths(rights) && !(version.path !== null && isReadable(rights, version.path)))
      throw notFound('memory version');
    const content = await history.content(tenant, version);
    return versionRecord(store, version, view === 'full' ? content : null);
  },
});

export const redactMemoryVersion = defineOperation({
  id: 'redactMemoryVersion',
  method: 'POST',
  url: `${url}/redact`,
  access: 'manage',
  summary: "Permanently remove a version's path and content",
  description:
    "The version must not be current. The memory's other versions with the same content are " +
    'redacted as well. Requires a key that manages stores.',
  tag: 'memory stores',
  ...ofVersion,
  errors: [notFound('memory version'), stillCurrent()],
  run: async ({ database, history, store, tenant, params, origin }) => {
    const id = versionUuid(params);
    try {
      await eraseVersion(database, tenant, id, origin);
    } catch (error) {
      throw hasReason(error, 'version_is_live') ? stillCurrent() : error;
    }
    return versionRecord(store, await requireVersion(history, tenant, id), null);
  },
});

async function listVersions(
  database: Database,
  tenant: string,
  query: z.output<typeof versionList> & { rights: Rights | undefined },
  before: string | null,
  limit: number,
): Promise<Version[]> {
  const memory = query.memory_id === undefined ? null : toUuid('mem', query.memory_id);
  // The text is not a valid memory ID, so no versions match.
  if (memory === undefined) return [];
  const { shown, hidden } = shownParams(query.rights);
  const page = {
    tenant,
    shown,
    hidden,
    before,
    limit,
    operation: query.operation ?? null,
    apiKey: query.api_key_id ?? null,
    serviceAccount: query.service_account_id ?? null,
    session: query.session_id ?? null,
    since: query['created_at[gte]'] ?? null,
    until: query['created_at[lte]'] ?? null,
  };
  const { rows } = await (memory === null
    ? database.query(listStoreVersionsQuery, page)
    : database.query(listMemoryVersionsQuery, { ...page, memory }));
  return rows.map(toVersion);
}

/** Returns the first versions whose contents together have at most this many bytes, and at least one version. */
function takeFitting(versions: Version[], bytes: number): Version[] {
  let before = 0;
  return versions.filter(({ contentSizeBytes }) => {
    const fits = before < bytes;
    before += contentSizeBytes ?? 0;
    return fits;
  });
}

const withVersionId = ({ id, memoryId }: Version) => ({ versionId: id, memoryId });

/** @throws StoreError 404 if the text cannot be a version ID */
function versionUuid({ memory_version_id: id }: { memory_version_id: string }): string {
  const uuid = toUuid('memver', id);
  if (uuid === undefined) throw notFound('memory version');
  return uuid;
}

async function requireVersion(history: History, tenant: string, id: string): Promise<Version> {
  const found = await history.find(tenant, id);
  if (found === undefined) throw notFound('memory version');
  return found;
}
