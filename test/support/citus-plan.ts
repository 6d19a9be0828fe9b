import type pg from 'pg';
import type { Query, Value } from '../../src/core/database/query.ts';

export type Statement = Pick<Query<Record<string, Value>, unknown>, 'name' | 'sql' | 'parameters'>;

const ID = '00000000-0000-4000-8000-000000000000';
const TIME = '2026-01-01T00:00:00Z';
const NUMBER = '1';
/** Parameter values by name, or by statement and name. The default is '/memories'. */
const VALUES: Readonly<Record<string, string>> = {
  tenant: 't',
  hash: 'aa',
  secret: 'aa',
  foundBy: ID,
  to: 'u',
  origin: '{}',
  keepsHistory: 'true',
  dryRun: 'true',
  wait: 'true',
  autoCreate: 'true',
  secrets: 'store',
  isAdmin: 'false',
  managesStores: 'false',
  canShare: 'false',
  isReusable: 'true',
  seconds: NUMBER,
  includeArchived: 'true',
  withContent: 'true',
  metadata: '{}',
  suspended: 'false',
  afterKey: NUMBER,
  buckets: NUMBER,
  actors: NUMBER,
  'count_changes.until': '2026-01-02T00:00:00Z',
  memory: ID,
  archivedAt: TIME,
  updatedAt: TIME,
  'list_store_versions.before': ID,
  'list_memory_versions.before': ID,
  id: ID,
  version: ID,
  change: ID,
  memoryId: ID,
  readVersion: ID,
  beforeId: ID,
  afterId: ID,
  'copy_versions.after': ID,
  'list_past_files.after': ID,
  rows: '[]',
  'list_since.after': ID,
  firsts: `{${ID}}`,
  others: `{${ID}}`,
  'export_versions.before': ID,
  'read_past_contents.before': ID,
  withContents: 'true',
  at: TIME,
  time: TIME,
  since: TIME,
  until: TIME,
  now: TIME,
  before: TIME,
  afterTime: TIME,
  createdAt: TIME,
  expiresAt: TIME,
  lastChangeAt: TIME,
  beforeTime: TIME,
  'prune_old.after': TIME,
  'list_changed.from': TIME,
  'list_changed.to': TIME,
  'redact_version.by': '{}',
  paths: '{a}',
  ids: `{${ID}}`,
  memoryIds: `{${ID}}`,
  versions: `{${ID}}`,
  times: `{${TIME}}`,
  modified: `{${TIME}}`,
  contents: '{a}',
  hashes: '{a}',
  parents: '{a}',
  deleted: '{a}',
  removed: '{a}',
  made: '{a}',
  scope: '{a}',
  onlyTenants: '{a}',
  overlapSeconds: NUMBER,
  'memory_write.removed': NUMBER,
  day: TIME,
  'list_usage_days.from': TIME,
  'fleet_activity.from': TIME,
  'fleet_sizes.from': TIME,
  actor: '{}',
  details: '{}',
  lock: NUMBER,
  'end_part.rows': NUMBER,
  mounts: '[]',
  draftDays: NUMBER,
  edited: '{a}',
  moved: '{a}',
  leaving: '{a}',
  deletedBy: `{${NUMBER}}`,
  originOf: `{${NUMBER}}`,
  operations: '{created}',
  origins: '{"{}"}',
  'insert_entries.changedAt': `{${TIME}}`,
  author: '{}',
  baseAt: TIME,
  mergedAt: TIME,
  'close_draft.by': '{}',
  'most_active_tenants.from': TIME,
  'record_fleet.suspended': NUMBER,
  'count_job_outcomes.scope': '{a}',
};
/** Parameters that list tenants, by statement and name. Plans use tenants from every shard. */
const TENANT_LISTS: ReadonlySet<string> = new Set([
  'count_tenants.scope',
  'count_selected_tenants.onlyTenants',
  'select_tenants.onlyTenants',
  'list_job_outcomes.scope',
  'list_found_actors.scope',
  'list_tenants_by_id.scope',
  'mounted_by.scope',
  'draft_sizes.ids',
  'list_draft_days.ids',
  'list_metadata_values.tenants',
  'oldest_stored_result_kept.ids',
]);
const IS_NUMBER =
  /^(limit|nearLimit|reads|writes|rejected|tenants|bytes|files|directories|start|keep|.*(Days|Bytes|Files|Chars|Minute|Entries|Answers|Depth|Drafts|Results|Mounts))$/;

/** Returns one tenant from each shard. */
export async function findTenantsByShard(client: pg.Client, shardCount: number): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT DISTINCT ON (shard) id FROM (
       SELECT id, get_shard_id_for_distribution_column('tenants', id) AS shard
       FROM (SELECT 't' || n AS id FROM generate_series(1, $1::integer) AS n) AS names
     ) AS placed ORDER BY shard, id`,
    [100 * shardCount],
  );
  if (rows.length !== shardCount) throw new Error(`The names reach ${rows.length} of ${shardCount} shards.`);
  return rows.map(({ id }) => id);
}

/** Values for parameters that the statement casts to a type. */
const OF_TYPE: Readonly<Record<string, string>> = {
  uuid: ID,
  jsonb: '{}',
  json: '[]',
  timestamptz: TIME,
  date: TIME,
  bigint: NUMBER,
  integer: NUMBER,
  float8: NUMBER,
  boolean: 'true',
  // Three elements, as the value for `soughtPart` has.
  'text[]': '{a,A,a}',
  'uuid[]': `{${ID}}`,
  'bigint[]': `{${NUMBER}}`,
  'integer[]': `{${NUMBER}}`,
  'timestamptz[]': `{${TIME}}`,
};

/** @param index number of the parameter in the statement, from 1 */
function sampleValue(
  { name, sql, parameters }: Statement,
  index: number,
  tenants: readonly string[],
): string {
  const parameter = parameters[index - 1] ?? '';
  if (TENANT_LISTS.has(`${name}.${parameter}`)) return `{${tenants.join(',')}}`;
  const cast = new RegExp(`\\$${index}(?:::text(?:\\[\\])?)?::(\\w+(?:\\[\\])?)`).exec(sql)?.[1] ?? '';
  const value = VALUES[`${name}.${parameter}`] ?? OF_TYPE[cast] ?? VALUES[parameter];
  return value ?? (IS_NUMBER.test(parameter) ? NUMBER : '/memories');
}

interface DistributedPlan {
  'Custom Plan Provider'?: string;
  'Distributed Query'?: { Subplans?: unknown; Job: { 'Task Count': number } };
  Plans?: DistributedPlan[];
}

/** Returns the Citus node below the nodes that the coordinator adds. */
function distributedNode(plan: DistributedPlan): DistributedPlan {
  const [only] = plan.Plans ?? [];
  return plan['Custom Plan Provider'] === undefined && only !== undefined ? distributedNode(only) : plan;
}

/**
 * Returns a statement's plan on Citus. The statement has literals, because EXPLAIN cannot plan every prepared
 * statement.
 *
 * @param tenants tenants from every shard (`findTenantsByShard`)
 */
export async function explainPlan(client: pg.Client, statement: Statement, tenants: readonly string[]) {
  const text = statement.sql.replace(/\$(\d+)/g, (_, n) => `'${sampleValue(statement, Number(n), tenants)}'`);
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${text}`);
  const plan = distributedNode(rows[0]['QUERY PLAN'][0].Plan);
  const query = plan['Distributed Query'];
  return {
    by: plan['Custom Plan Provider'],
    shards: query?.Job['Task Count'],
    isInSteps: query?.Subplans !== undefined,
  };
}
