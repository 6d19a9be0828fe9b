import { apiKeyQueries } from '../../src/api-keys/queries.ts';
import { expirationQueries } from '../../src/expiration/queries.ts';
import { activityQueries } from '../../src/history/activity.ts';
import { applyQueries } from '../../src/history/apply-queries.ts';
import { pastQueries } from '../../src/history/past-queries.ts';
import { pruningQueries } from '../../src/history/pruning-queries.ts';
import { historyQueries } from '../../src/history/queries.ts';
import { redactQueries } from '../../src/history/redact-queries.ts';
import { restoreQueries } from '../../src/history/restore-queries.ts';
import { revertQueries } from '../../src/history/revert-queries.ts';
import { versionIdQueries } from '../../src/history/version-ids.ts';
import { idempotencyQueries } from '../../src/idempotency/queries.ts';
import { touchQuery } from '../../src/store/access-times.ts';
import { readQueries } from '../../src/store/read-queries.ts';
import { tenantListingQueries } from '../../src/tenants/listing-queries.ts';
import { tenantQueries } from '../../src/tenants/queries.ts';
import { transferQueries } from '../../src/transfer/queries.ts';
import { searchQueries } from '../../src/transfer/search.ts';

/** Every statement of the service, without those for many calls (`batchQueries`) and the calls of write functions (`writeFunctions`). */
export const statements = [
  ...readQueries,
  ...tenantQueries,
  ...tenantListingQueries,
  ...activityQueries,
  ...searchQueries,
  ...apiKeyQueries,
  ...expirationQueries,
  ...idempotencyQueries,
  touchQuery,
  ...transferQueries,
  ...historyQueries,
  ...pastQueries,
  ...redactQueries,
  ...pruningQueries,
  ...restoreQueries,
  ...revertQueries,
  ...applyQueries,
  ...versionIdQueries,
];

/** Operators and background jobs page through all tenants but read no entries. */
export const overAllTenants: ReadonlySet<string> = new Set([
  'list_tenants_by_id',
  'list_tenants_by_key',
  'tenants_with_ttl',
  'tenants_with_history',
  'tenants_with_answers',
]);

/** Calls of the write functions, one after the other for one tenant, that run nearly all of their statements. */
export const functionCalls: readonly string[] = [
  "memory_create('t', '/memories/a/b/f', 'x', md5('1')::uuid, true, 9, 9, '{}', 'k1', 'r', 'answer', true)",
  "memory_create('t', '/memories/a/b/f/g', 'x', md5('1')::uuid, true, 9, 9, '{}', 'k2', 'r', 'answer', false)",
  "memory_write('t', '/memories/a/b/f', md5('1')::uuid, 0, 1, 'xy', md5('2')::uuid, 9, 9, 30, '{}', 'k3', 'r', 'answer', true)",
  "memory_write('t', '/memories/a/b/f', md5('1')::uuid, 0, 0, 'too much', md5('3')::uuid, 1, 1, 30, '{}', 'k4', 'r', 'answer', false)",
  "memory_rename('t', '/memories/a', '/memories/c/d', 1024, 20, 9, md5('4')::uuid, 30, '{}', 'k5', 'r', 'answer', true)",
  "memory_record_failure('t', 'k6', 'r', 'answer', true)",
  "memory_restore('t', '{/memories/c/d/x}', '{/memories/c/e}', '{/memories/g}', '{/memories/c/d/b/f}', '{/memories/g/f}', ARRAY[md5('1')::uuid]::uuid[], '{}', '{}', '{}', 9, 9, md5('7')::uuid, 30, '{}')",
  "memory_expire('t', now(), 10, md5('5')::uuid, 30, '{}')",
  "memory_delete('t', '/memories/c', md5('6')::uuid, 30, '{}', 'k7', 'r', 'answer', true)",
  "memory_redact('t', md5('1')::uuid, '{}')",
  "memory_prune_old('t', now(), 10, '-infinity', md5('')::uuid, 1)",
  "memory_prune_excess('t', 300, 10)",
];
