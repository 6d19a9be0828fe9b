import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { compareCodePoints, storableText } from '../lib/text-forms.ts';
import { MOUNT_ACCESS, type Mount, mountPath, toShownMount } from '../memory/mount.ts';
import { type Actor, ANONYMOUS } from '../memory/origin.ts';
import { parsePath, ROOT } from '../memory/path.ts';
import { pathSchema } from '../memory/rights.ts';
import { recordEvent, type SHARE_EVENTS } from './events.ts';
import { TENANT_ID, TENANT_ID_RULE } from './ids.ts';
import {
  changeShareQuery,
  deleteShareQuery,
  findTenantQuery,
  lockTenantQuery,
  type TenantRow,
  tenantCreatedAtQuery,
} from './queries.ts';
import { requireTenant } from './tenants.ts';

/** Maximum number of mounts in a tenant. A view of the root reads all of them. */
export const MAX_MOUNTS = 16;
/** UTF-16 code units. */
export const MAX_INSTRUCTIONS = 4096;

export const MOUNT_NAME_RULE =
  'letters, digits, spaces and . _ @ + -, with a letter, a digit or _ at the start and no space or dot at the end, at most 255 bytes; not node_modules';

const MOUNT_NAME = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N} ._@+-]*[\p{L}\p{M}\p{N}_@+-])?$/u;

export const mountNameSchema = z
  .string()
  .regex(MOUNT_NAME, `must be ${MOUNT_NAME_RULE}`)
  .refine(isNewMountName, `must be ${MOUNT_NAME_RULE}`)
  .meta({ description: 'Directory name below `/memories`.', examples: ['team'] });

const PREFIX = {
  description:
    'Path in the mounted memory: only the file, or the directory with everything below it, is shown. By default the whole memory.',
  examples: ['/memories/shared'],
};

/** A mount's prefix in responses. */
export const shownPrefix = z.string().optional().meta(PREFIX);

export const mountFields = {
  tenant: z
    .string()
    .regex(TENANT_ID, `must be ${TENANT_ID_RULE}`)
    .meta({ description: 'The tenant whose memory is shown.', examples: ['team'] }),
  access: z
    .enum(MOUNT_ACCESS)
    .default('read_only')
    .meta({ description: 'Applies to every key for the tenant, regardless of its access to other paths.' }),
  prefix: pathSchema
    .transform((path) => (path === ROOT ? undefined : path))
    .optional()
    .meta(PREFIX),
  instructions: storableText(MAX_INSTRUCTIONS)
    .default('')
    .meta({
      description: 'Instructions for the model about the directory, included in `GET /instructions`.',
      examples: ['What the team has learned about the build.'],
    }),
};

export const mountSchema: z.ZodType<Mount> = z.strictObject({ name: mountNameSchema, ...mountFields });

export const mountsSchema = z
  .array(mountSchema)
  .max(MAX_MOUNTS)
  .refine(
    (mounts) => new Set(mounts.map(({ name }) => name)).size === mounts.length,
    'has a name more than once',
  );

/**
 * Whether a new mount may have a name. Valid names pass through URLs, shells, and models unchanged. Existing mounts may
 * have other names.
 */
export function isNewMountName(name: string): boolean {
  if (!MOUNT_NAME.test(name)) return false;
  const parsed = parsePath(`${ROOT}/${name}`);
  return parsed.ok && parsed.path === `${ROOT}/${name}` && name !== 'node_modules';
}

const setMountsQuery = defineQuery<{ tenant: string; mounts: string | null }>(
  'set_mounts',
  'UPDATE tenants SET mounts = $mounts::text::jsonb WHERE id = $tenant',
);

const findEntriesQuery = defineQuery<{ tenant: string; paths: string[] }, { path: string }>(
  'find_entries',
  'SELECT path FROM entries WHERE tenant_id = $tenant AND path = ANY ($paths::text[])',
);

/** SQL value: the tenant `$tenant`, created at `$createdAt`, in the mount format. */
const MOUNTED = "jsonb_build_object('tenant', $tenant::text, 'createdAt', $createdAt::text)";
/** SQL condition: whether the mounts in a row of `tenants` contain the value `mounted`. */
const hasMount = (mounted: string) => `mounts IS NOT NULL AND mounts @> jsonb_build_array(${mounted})`;

/** Lists the mounts that show a tenant. Scans all tenants, so it is only for operators and admins. */
const mountedByQuery = defineQuery<
  { tenant: string; createdAt: string; scope: string[] | null; limit: number },
  MountedBy
>(
  'mounted_by',
  `
SELECT t.id AS tenant, m.mount ->> 'name' AS name, m.mount ->> 'access' AS access
FROM tenants AS t, jsonb_array_elements(t.mounts) AS m (mount)
WHERE t.${hasMount(MOUNTED)} AND m.mount @> ${MOUNTED} AND ($scope::text[] IS NULL OR t.id = ANY ($scope::text[]))
ORDER BY t.id, m.mount ->> 'name' COLLATE "C" LIMIT $limit::bigint
`,
);

/**
 * SQL statement: replaces the tenant with `$to` in all mounts that contain the value `mounted`.
 *
 * @param kept the mount `m.mount`, or the fields that are kept
 */
const replaceInMounts = (mounted: string, kept = 'm.mount') => `
UPDATE tenants SET mounts = (
  SELECT jsonb_agg(
    CASE WHEN m.mount @> ${mounted} THEN jsonb_set(${kept}, '{tenant}', to_jsonb($to::text)) ELSE m.mount END
      ORDER BY m.i
  ) FROM jsonb_array_elements(mounts) WITH ORDINALITY AS m (mount, i)
) WHERE ${hasMount(mounted)}`;

/** Changes all mounts that show a tenant to mount the tenant `to`. Returns the mounting tenants. */
const moveMountsQuery = defineQuery<{ tenant: string; createdAt: string; to: string }, { id: string }>(
  'move_mounts',
  `${replaceInMounts(MOUNTED)} RETURNING id`,
);

/** Replaces a deleted tenant's ID in all mounts, and removes paths in its memory. */
const forgetMountsQuery = defineQuery<{ tenant: string; to: string }>(
  'forget_mounts',
  replaceInMounts("jsonb_build_object('tenant', $tenant::text)", "(m.mount - 'prefix')"),
);

/** A mount that shows a tenant. `tenant` is the mounting tenant. */
export type MountedBy = Pick<Mount, 'tenant' | 'name' | 'access'>;

/**
 * `suspended` and `missing` describe the mounted tenant. `name_taken`: the mount hides a file or directory with its
 * name.
 */
export type MountStatus = 'ok' | 'suspended' | 'missing' | 'name_taken';

/**
 * Adds a mount to a tenant, or replaces the mount with the same name.
 *
 * @returns the replaced mount
 * @throws ServiceError if one of the tenants does not exist, or the mount is invalid
 */
export async function setMount(
  database: Database,
  tenant: string,
  mount: Mount,
  by: Actor = ANONYMOUS,
): Promise<Mount | undefined> {
  if (mount.tenant === tenant) throw new ServiceError('mounts_itself', tenant);
  await requireTenant(database, tenant);
  const { createdAt } = await requireTenant(database, mount.tenant);
  return changeMounts(database, tenant, by, async (query, mounts) => {
    const before = mounts.find(({ name }) => name === mount.name);
    if (before === undefined) {
      return { mounts: await withMount(query, tenant, mounts, { ...mount, createdAt }), result: before };
    }
    const isSame = before.tenant === mount.tenant && before.createdAt === createdAt;
    const changed = { ...mount, createdAt, ...(isSame && { share: before.share }) };
    return { mounts: mounts.map((each) => (each === before ? changed : each)), result: before };
  });
}

/**
 * Adds a mount to a tenant, in a transaction.
 *
 * @param createdAt the tenant's creation time, for the caller's tenant
 * @throws ServiceError if the tenant does not exist, has no room for the mount, or has its name already
 */
export async function addMount(
  query: QueryExecutor,
  { tenant, createdAt }: { tenant: string; createdAt: string },
  mount: Mount,
  by: Actor,
): Promise<void> {
  await changeMountsIn(query, tenant, by, async (mounts, row) => {
    if (row.createdAt !== createdAt) throw new ServiceError('tenant_replaced', tenant);
    const isTaken = mounts.some(({ name }) => name === mount.name);
    if (isTaken) throw new ServiceError('mount_name_taken', tenant, mountPath(mount));
    return { mounts: await withMount(query, tenant, mounts, mount), result: undefined };
  });
}

async function withMount(
  query: QueryExecutor,
  tenant: string,
  mounts: Mount[],
  mount: Mount,
): Promise<Mount[]> {
  if (mounts.length >= MAX_MOUNTS) throw new ServiceError('too_many_mounts', tenant, MAX_MOUNTS);
  const path = mountPath(mount);
  const taken = await query(findEntriesQuery, { tenant, paths: [path] });
  if (taken.rows.length > 0) throw new ServiceError('mount_name_taken', tenant, path);
  return [...mounts, mount];
}

/**
 * Ends a share, and removes its mount from the receiving tenant.
 *
 * @throws ServiceError if the receiving tenant does not exist
 */
export function removeShare(database: Database, receiver: string, id: string, by: Actor): Promise<void> {
  return changeMounts(database, receiver, by, async (query, mounts) => {
    await query(deleteShareQuery, { id });
    return { mounts: mounts.filter(({ share }) => share?.id !== id), result: undefined };
  });
}

/**
 * @returns the removed mount
 * @throws ServiceError if the tenant or the mount does not exist
 */
export function removeMount(
  database: Database,
  tenant: string,
  name: string,
  by: Actor = ANONYMOUS,
): Promise<Mount> {
  return changeMounts(database, tenant, by, async (_, mounts) => {
    const mount = mounts.find((each) => each.name === name);
    if (mount === undefined) throw new ServiceError('no_such_mount', tenant, name);
    return { mounts: mounts.filter((each) => each !== mount), result: toShownMount(mount) };
  });
}

/**
 * Returns a tenant's mounts with their status for agents. Throws `DatabaseError`.
 *
 * @param scope tenants whose status may be revealed; null means all
 */
export async function mountStatuses(
  database: Pick<Database, 'query'>,
  { id: tenant, mounts }: Pick<TenantRow, 'id' | 'mounts'>,
  scope: readonly string[] | null = null,
): Promise<(Mount & { status: MountStatus | null })[]> {
  if (mounts.length === 0) return [];
  const [taken, rows] = await Promise.all([
    database.query(findEntriesQuery, { tenant, paths: mounts.map(mountPath) }),
    Promise.all(mounts.map((mount) => database.query(findTenantQuery, { tenant: mount.tenant }))),
  ]);
  const hidden = new Set(taken.rows.map(({ path }) => path));
  return mounts.map((own, i) => {
    const mount = toShownMount(own);
    const isHidden = hidden.has(mountPath(mount));
    if (scope !== null && !scope.includes(mount.tenant))
      return { ...mount, status: isHidden ? 'name_taken' : null };
    const row = rows[i]?.rows[0];
    if (row === undefined || row.createdAt !== own.createdAt) return { ...mount, status: 'missing' };
    if (row.suspendedAt !== null) return { ...mount, status: 'suspended' };
    return { ...mount, status: isHidden ? 'name_taken' : 'ok' };
  });
}

/**
 * Lists the mounts of a tenant in other tenants, ordered by the mounting tenant's ID.
 *
 * @param options.scope mounting tenants that the caller may see; null means all
 */
export async function findMountingTenants(
  { query }: Pick<Database, 'query'>,
  tenant: string,
  { scope, limit }: { scope: string[] | null; limit: number },
): Promise<{ mounts: MountedBy[]; more: boolean }> {
  const [row] = (await query(tenantCreatedAtQuery, { tenant })).rows;
  if (row === undefined) return { mounts: [], more: false };
  const { rows } = await query(mountedByQuery, { tenant, ...row, scope, limit: limit + 1 });
  return { mounts: rows.slice(0, limit), more: rows.length > limit };
}

/** Maximum number of tenants listed in an error. */
const NAMED = 5;

/**
 * @param scope tenants that the error may list; null means all
 * @throws ServiceError if other tenants mount the tenant
 */
export async function rejectMounted(
  database: Database,
  tenant: string,
  scope: string[] | null,
): Promise<void> {
  const { mounts, more } = await findMountingTenants(database, tenant, { scope: null, limit: NAMED });
  if (mounts.length === 0) return;
  const seen =
    scope === null ? mounts : (await findMountingTenants(database, tenant, { scope, limit: NAMED })).mounts;
  const by = [...new Set(seen.map((mount) => mount.tenant))];
  const hasOthers = more || mounts.some((mount) => !by.includes(mount.tenant));
  throw new ServiceError('tenant_is_mounted', tenant, by, hasOthers);
}

/**
 * Copies mounts to a new tenant. Omits a mount that would show the new tenant itself, which is possible if the mounted
 * tenant did not exist.
 */
export async function copyMounts(query: QueryExecutor, mounts: readonly Mount[], to: string): Promise<void> {
  await writeMounts(
    query,
    to,
    mounts.filter(({ tenant }) => tenant !== to),
  );
}

/**
 * Changes all mounts that show a renamed tenant to its new ID. Matches mounts by the tenant's creation time, which a
 * rename preserves.
 *
 * @returns the mounting tenants
 */
export async function moveMounts(query: QueryExecutor, tenant: string, to: string): Promise<string[]> {
  const [row] = (await query(tenantCreatedAtQuery, { tenant: to })).rows;
  if (row === undefined) return [];
  const { rows } = await query(moveMountsQuery, { tenant, ...row, to });
  return rows.map(({ id }) => id).sort();
}

/** Replaces a deleted tenant's ID with a hash in other tenants' mounts, and removes their prefixes. These tenants show the mounts as missing. */
export async function forgetMounts(
  { query }: Pick<Database, 'query'>,
  tenant: string,
  hash: string,
): Promise<void> {
  await query(forgetMountsQuery, { tenant, to: hash });
}

function changeMounts<T>(
  database: Database,
  tenant: string,
  by: Actor,
  change: (query: QueryExecutor, mounts: Mount[]) => Promise<{ mounts: Mount[]; result: T }>,
): Promise<T> {
  return database.transaction((query) =>
    changeMountsIn(query, tenant, by, (mounts) => change(query, mounts)),
  );
}

async function changeMountsIn<T>(
  query: QueryExecutor,
  tenant: string,
  by: Actor,
  change: (mounts: Mount[], row: TenantRow) => Promise<{ mounts: Mount[]; result: T }>,
): Promise<T> {
  await query(lockTenantQuery, { tenant });
  const [row] = (await query(findTenantQuery, { tenant })).rows;
  if (row === undefined) throw new ServiceError('no_such_tenant', tenant);
  const { mounts, result } = await change(row.mounts, row);
  await writeMounts(query, tenant, mounts);
  await followMounts(query, tenant, { before: row.mounts, after: mounts, by });
  return result;
}

/**
 * Ends the shares whose mounts were removed, follows changes to the others, and records each share's beginning and end
 * in the mounting tenant's change feed. Locks shares after the mounting tenant.
 */
async function followMounts(
  query: QueryExecutor,
  tenant: string,
  { before, after, by }: { before: Mount[]; after: Mount[]; by: Actor },
): Promise<void> {
  const record = (type: (typeof SHARE_EVENTS)[number], id: string, access: Mount['access']) =>
    recordEvent(query, tenant, { type, share: { id, access } }, by);
  for (const { share, access, prefix } of before) {
    if (share === undefined) continue;
    const mount = after.find((each) => each.share?.id === share.id);
    if (mount === undefined) {
      await query(deleteShareQuery, { id: share.id });
      await record('share_ended', share.id, access);
    } else if (mount.access !== access || mount.prefix !== prefix)
      await query(changeShareQuery, { id: share.id, access: mount.access, prefix: mount.prefix ?? null });
  }
  for (const { share, access } of after)
    if (share !== undefined && !before.some((each) => each.share?.id === share.id))
      await record('share_created', share.id, access);
}

async function writeMounts(query: QueryExecutor, tenant: string, mounts: Mount[]): Promise<void> {
  const sorted = mounts.toSorted((one, other) => compareCodePoints(one.name, other.name));
  await query(setMountsQuery, { tenant, mounts: sorted.length === 0 ? null : JSON.stringify(sorted) });
}
