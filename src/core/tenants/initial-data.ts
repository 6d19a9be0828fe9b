import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import type { Database } from '../database/database.ts';
import { camelCase, nameText, renameKeys, snakeCase } from '../lib/text-forms.ts';
import { rightsSchema } from '../memory/rights.ts';
import { NEW_TENANT_ID, NEW_TENANT_ID_RULE } from './ids.ts';
import { hashKey, isApiKey, Keys, keyId, rightsProblem } from './keys.ts';
import { mountFields, mountNameSchema, mountsSchema, setMount } from './mounts.ts';
import { typedSettingSchemas } from './setting-schemas.ts';
import type { TenantSettings } from './settings.ts';
import { Tenants } from './tenants.ts';

/*
 * Creates initial tenants and keys when the service starts, so that a deployment needs no further commands. Existing
 * tenants and keys are not changed, so that changes and revocations by operators persist.
 */

const tenantId = z.string().regex(NEW_TENANT_ID, `must be ${NEW_TENANT_ID_RULE}`);

/** Settings have the same names as in `tenants show --json` and the admin API. Former names are accepted too. */
const tenantFields = {
  id: tenantId,
  mounts: mountsSchema.optional(),
  ...z.object(typedSettingSchemas).partial().shape,
};
const tenantSchema = z.preprocess(
  (given) => renameKeys(given, camelCase),
  z
    .strictObject(tenantFields)
    .refine(({ id, mounts = [] }) => mounts.every(({ tenant }) => tenant !== id), 'mounts itself'),
);

const keyFields = {
  key: z.string().refine(isApiKey, 'is not a key: create one with `memory-service keys generate`'),
  tenant: tenantId.optional(),
  service: z.literal(true).optional(),
  admin: z.literal(true).optional(),
  manageStores: z.literal(true).optional(),
  share: z.literal(true).optional(),
  access: z.enum(['read_write', 'propose', 'read_only']).default('read_write'),
  rights: rightsSchema.default([]),
  label: nameText(255).default('bootstrap'),
  source: nameText(64).default(''),
};
const keySchema = z
  .strictObject(keyFields)
  .refine(({ tenant, service, admin }) => [tenant, service, admin].filter(Boolean).length === 1, {
    error: 'needs one of "tenant", "service": true, and "admin": true',
  })
  .refine(({ service, access, manageStores }) => !manageStores || (service && access === 'read_write'), {
    error: '"manageStores" is for "service": true, and not for a key that only reads',
  })
  .refine(({ tenant, access, share }) => !share || (tenant !== undefined && access === 'read_write'), {
    error: '"share" is for "tenant", with "access": "read_write"',
  })
  .refine(({ tenant, access }) => access !== 'propose' || tenant !== undefined, {
    error: '"access": "propose" is for "tenant"',
  })
  .superRefine(({ admin = false, manageStores = false, share = false, rights }, refinement) => {
    const key = { isAdmin: admin, managesStores: manageStores, canShare: share, rights };
    const problem = rightsProblem(key);
    if (problem !== undefined) refinement.addIssue({ code: 'custom', message: `"rights" ${problem}` });
  });

const bootstrapFields = {
  tenants: z.array(tenantSchema).default([]),
  keys: z.array(keySchema).default([]),
};
const bootstrapSchema = z.strictObject(bootstrapFields);

/** An object's known fields, by the name of the list that contains the object. */
const FIELDS = new Map<PropertyKey | undefined, object>([
  [undefined, bootstrapFields],
  ['tenants', tenantFields],
  ['keys', keyFields],
  ['mounts', { name: mountNameSchema, ...mountFields }],
]);

const ACTOR = { type: 'system', job: 'bootstrap' } as const;

export type Bootstrap = z.output<typeof bootstrapSchema>;

/**
 * Reads `BOOTSTRAP`, or the file named by `BOOTSTRAP_FILE`.
 *
 * @throws ConfigError that describes an error's position without its value, because the value may be a key
 */
export function loadBootstrap(env: {
  BOOTSTRAP?: string | undefined;
  BOOTSTRAP_FILE?: string | undefined;
}): Bootstrap {
  const [inline, file] = [env.BOOTSTRAP || undefined, env.BOOTSTRAP_FILE || undefined];
  if (inline !== undefined && file !== undefined) {
    throw new ConfigError(['BOOTSTRAP and BOOTSTRAP_FILE must not both be set']);
  }
  const name = file === undefined ? 'BOOTSTRAP' : 'BOOTSTRAP_FILE';
  const text = file === undefined ? (inline ?? '{}') : read(file);
  const parsed = bootstrapSchema.safeParse(parseJson(name, text));
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.map((issue) => `${name}${describeIssue(issue)}`));
}

/** Describes an issue without values. The messages from zod name types, but an unknown field may be a misplaced key. */
function describeIssue({ code, path, message }: z.core.$ZodIssue): string {
  const place = path.map((each) => snakeCase(String(each))).join('.');
  const fields = Object.keys(FIELDS.get(path.at(-2)) ?? {}).map(snakeCase);
  const problem =
    code === 'unrecognized_keys' ? `has an unknown field (allowed: ${fields.join(', ')})` : message;
  return `${place === '' ? '' : ` ${place}`}: ${problem}`;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError([
      `BOOTSTRAP_FILE ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`,
    ]);
  }
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the text, which may contain keys.
    throw new ConfigError([`${name} must be JSON`]);
  }
}

/**
 * Creates the missing tenants and keys. Several replicas may run this concurrently. Throws `DatabaseError`.
 *
 * @throws ConfigError before any creation, if a mounted tenant neither exists nor will be created
 */
export async function applyBootstrap(
  database: Database,
  { tenants, keys }: Bootstrap,
): Promise<{ tenants: number; keys: number }> {
  const made = { tenants: 0, keys: 0 };
  const allTenants = new Tenants(database);
  const allKeys = new Keys(database);
  const withKeys = keys.flatMap(({ tenant }) => (tenant === undefined ? [] : [{ id: tenant }]));
  const all = [...tenants, ...withKeys];
  await checkMounts(allTenants, all);
  const isNew = new Set<string>();
  for (const { id, ...own } of all) {
    if (!(await allTenants.create(id, ACTOR))) continue;
    const { mounts, ...settings } = own as Omit<Bootstrap['tenants'][number], 'id'>;
    await allTenants.set(id, settings as Partial<TenantSettings>);
    isNew.add(id);
    made.tenants++;
  }
  // Sets the mounts after all tenants exist.
  for (const { id, mounts = [] } of tenants)
    if (isNew.has(id)) for (const mount of mounts) await setMount(database, id, mount);
  for (const {
    key,
    tenant = null,
    admin: isAdmin = false,
    manageStores: managesStores = false,
    share: canShare = false,
    access,
    rights,
    label,
    source,
  } of keys) {
    const held = { tenant, isAdmin, managesStores, canShare, access, rights };
    const purpose = { ...held, label, source, expiresAt: null };
    const isNew = await allKeys.createOnce({ ...purpose, hash: hashKey(key), id: keyId() }, ACTOR);
    if (isNew) made.keys++;
  }
  return made;
}

async function checkMounts(tenants: Tenants, all: Bootstrap['tenants']): Promise<void> {
  const created = new Set(all.map(({ id }) => id));
  for (const { id, mounts = [] } of all) {
    for (const { name, tenant } of mounts) {
      if (created.has(tenant) || (await tenants.find(tenant)) !== undefined) continue;
      throw new ConfigError([
        `BOOTSTRAP: tenant ${id} mounts ${tenant} as ${name}, and there is no such tenant`,
      ]);
    }
  }
}
