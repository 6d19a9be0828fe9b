import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { definedQueries } from '../../src/core/database/query.ts';
import { writeFunctions } from '../../src/core/files/write-functions.ts';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
for (const file of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
  if (!file.endsWith('.ts')) continue;
  const path = join(SRC, file);
  if (/\bdefine(Batch)?Query\b/.test(readFileSync(path, 'utf8'))) await import(path);
}

/** Statements that each execute another statement for many calls. */
export const batchQueries = definedQueries.flatMap(({ batch }) => batch ?? []);

const ofFunctions = writeFunctions.flatMap(({ single, batch }) => [single, batch]);

/** Statements on the Citus catalog, which a plain server lacks. */
const OF_CITUS: ReadonlySet<string> = new Set([
  'is_distributed',
  'node_settings',
  'node_of_tenant',
  'node_snapshots',
  'hold_shards',
]);

/** Every statement in the service, except batches (`batchQueries`) and calls to write functions (`writeFunctions`). */
export const statements = definedQueries.filter(
  (query) =>
    !OF_CITUS.has(query.name) &&
    !batchQueries.some((each) => each.name === query.name) &&
    !ofFunctions.some((each) => each.name === query.name),
);

/** Statements for operators and background jobs that page through all tenants but read no entries. */
export const overAllTenants: ReadonlySet<string> = new Set([
  'list_tenants_by_id',
  'list_tenants_by_key',
  'count_tenants',
  'list_stores',
  'list_draft_tenants',
  'list_draft_memories',
  'move_drafts',
  'oldest_stored_result_kept',
  'draft_sizes',
  'list_draft_days',
  'tenants_with_ttl',
  'tenants_with_history',
  'tenants_with_stored_results',
  'tenant_ids',
  'fleet_totals',
  'fleet_activity',
  'most_active_tenants',
  'mounted_by',
  'move_mounts',
  'forget_mounts',
  'replace_proposer',
  'replace_reader',
  'tenants_with_reads',
  'list_metadata_values',
  'select_tenants',
  'count_selected_tenants',
  'list_job_outcomes',
  'list_found_actors',
  'find_unseen_change',
  'read_changes',
  'forget_events',
  'prune_events',
]);

/** Statements on keys: a key is found by its hash before its tenant is known, and operators list and revoke keys. */
export const ofKeys: ReadonlySet<string> = new Set([
  'find_key',
  'keep_tenant',
  'create_key',
  'create_key_once',
  'list_keys',
  'get_key',
  'previous_secret',
  'end_previous_secrets',
  'current_key',
  'lock_key',
  'lock_secrets',
  'lock_tenant_keys',
  'lock_scoped_keys',
  'lock_used_keys',
  'update_key',
  'add_secret',
  'retire_secrets',
  'forget_creation',
  'find_creation',
  'replace_secret',
  'revoke_key',
  'move_keys',
  'change_scopes',
  'note_key_use',
  'count_keys_with_text',
]);

/**
 * Calls to the write functions, in order for one tenant, that run nearly all their statements. `:first` is the ID of
 * the tenant's oldest superseded version, and `:memory` the ID of its last file.
 */
export const functionCalls: readonly string[] = [
  "memory_create('t', '/memories/a/b/f', 'x', md5('1')::uuid, true, '{}', 'k1', 'r', 'answer', 9, 9, true)",
  "memory_create('t', '/memories/a/b/f/g', 'x', md5('1')::uuid, true, '{}', 'k2', 'r', 'answer', 9, 9, false)",
  "memory_write('t', '/memories/a/b/f', md5('1')::uuid, 0, 1, 'xy', md5('2')::uuid, '{}', 'k3', 'r', 'answer', 9, 30, 0, true)",
  "memory_write('t', '/memories/a/b/f', md5('2')::uuid, 0, 0, 'too much', md5('3')::uuid, '{}', 'k4', 'r', 'answer', 9, 30, 0, false)",
  "memory_rename('t', '/memories/a', '/memories/c/d', md5('4')::uuid, '{}', 'k5', 'r', 'answer', 1024, 20, 9, 30, 0, true)",
  "memory_record_failure('t', 'k6', 'r', 'answer', true)",
  "memory_store_create('t', '/memories/s', 'aäb', md5('20')::uuid, '{}', true, 9, 9, 30, 0, true)",
  "memory_store_update('t', ':memory', '/memories/s/t', 'aöc', NULL, 9, md5('21')::uuid, '{}', false, 9, 9, 30, 0, true)",
  "memory_store_delete('t', ':memory', NULL, md5('22')::uuid, '{}', 30, 0, true)",
  "memory_contents('t', ARRAY[':first', ':first']::uuid[], ARRAY[':first', ':first']::uuid[])",
  "memory_past_contents('t', ':first', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 1000, true)",
  "memory_replace_content('t', ':first', ':first', 'y')",
  "memory_exceeded('t', 1, 1, 1, 9, 9)",
  "memory_change('t', now(), md5('7')::uuid, '{/memories/c/d/b/f}', '{}', '{/memories/c/d/b/f}', '{/memories/c/d/x}', '{1}', '{/memories/c/e}', '{/memories/g}', '{:memory}', '{/memories/g/f}', '{NULL}', '{:first}', '{1}', ARRAY['{}']::jsonb[], 30, 0)",
  "memory_change('t', now(), md5('8')::uuid, '{}', '{}', '{}', '{/memories/g/f}', '{1}', '{}', '{}', '{:first}', '{/memories/g/h}', '{NULL}', '{:first}', '{1}', ARRAY['{}']::jsonb[], 30, 1)",
  "memory_change('t', now(), md5('9')::uuid, '{}', '{}', '{}', '{}', '{}', '{}', '{/memories/m,/memories/n}', ARRAY[md5('10'), md5('11')]::uuid[], '{/memories/m/f,/memories/m/g}', '{x,y}', '{NULL,NULL}', '{1,1}', ARRAY['{}']::jsonb[], 30, NULL)",
  "memory_change('t', now(), md5('12')::uuid, '{/memories/m/f}', '{/memories/m/g}', '{/memories/m/g}', '{}', '{}', '{/memories/n}', '{}', ARRAY[md5('10'), md5('11')]::uuid[], '{/memories/m/f,/memories/m/h}', '{z,NULL}', '{NULL,NULL}', '{1,1}', ARRAY['{}']::jsonb[], 30, 0)",
  "memory_change('t', now(), md5('13')::uuid, '{}', '{}', '{}', '{/memories/m/f,/memories/m/h}', '{1,1}', '{/memories/m}', '{}', '{}', '{}', '{}', '{}', '{}', ARRAY['{}']::jsonb[], 30, NULL)",
  "memory_expire('t', now(), 10, md5('5')::uuid, 30, 0, '{}')",
  "memory_delete('t', '/memories/c', md5('6')::uuid, '{}', 'k7', 'r', 'answer', 30, 0, true)",
  "memory_redact('t', ':first', '{}')",
  "memory_redact_directories('t', '/memories/a', false)",
  "memory_redact_versions('t', ARRAY[':first']::uuid[], ARRAY[':first']::uuid[], '{}')",
  "memory_rewrite_version('t', ':first', ':first', '/memories/f', 'x')",
  "memory_erase_path('t', '/memories/g', '/memories/k', md5('30')::uuid, '{}', 30, 0)",
  "memory_erase_base_path('t', '/memories/a', '/memories/b')",
  "memory_erase_base_versions('t', ARRAY[':first']::uuid[], ARRAY[':first']::uuid[])",
  "memory_redact_below('t', '/memories/g', 10, '{}')",
  "memory_forget_paths('t', '{/memories/a}', true)",
  "memory_prune_old('t', now(), 10, '-infinity', md5('')::uuid, 1)",
  "memory_prune_excess('t', 300, 10)",
];

export async function functionCall(client: pg.Client, call: string): Promise<string> {
  const { rows } = await client.query("SELECT id FROM versions WHERE tenant_id = 't' ORDER BY id LIMIT 1");
  const memory = await client.query(
    "SELECT memory_id FROM entries WHERE tenant_id = 't' AND kind = 'file' ORDER BY path DESC LIMIT 1",
  );
  return `SELECT * FROM ${call
    .replaceAll(':first', rows[0]?.id ?? '')
    .replaceAll(':memory', memory.rows[0]?.memory_id ?? '')}`;
}
