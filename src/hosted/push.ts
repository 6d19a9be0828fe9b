import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import type { HostedMemory } from './schemas.ts';
import type { HostedStore } from './store.ts';

/** Whether a file, or one that was at its path, ever had a content. */
export const hadContentQuery = defineQuery<
  { tenant: string; memory: string; path: string; sha256: string },
  { had: boolean }
>(
  'had_content',
  ['tenant', 'memory', 'path', 'sha256'],
  `
SELECT EXISTS (
  SELECT FROM versions WHERE tenant_id = $1 AND memory_id = $2::text::uuid AND content_sha256 = decode($4::text, 'hex')
) OR EXISTS (
  SELECT FROM versions WHERE tenant_id = $1 AND path = $3 AND content_sha256 = decode($4::text, 'hex')
) AS had
`,
);

export interface PushedFile {
  memoryId: string;
  /** In the memory tool. */
  file: string;
  /** In the store. */
  path: string;
  content: string;
  sha256: string;
}

/** `changed`: the store has a content that the file never had here. */
export type PushAction = 'unchanged' | 'create' | 'update' | 'changed';

/** What a push has to do for a file. */
export async function planPush(
  database: Database,
  tenant: string,
  { memoryId, file, sha256 }: PushedFile,
  there: HostedMemory | undefined,
): Promise<PushAction> {
  if (there === undefined) return 'create';
  if (there.content_sha256 === sha256) return 'unchanged';
  const version = { tenant, memory: memoryId, path: file, sha256: there.content_sha256 };
  return (await database.query(hadContentQuery, version)).rows[0]?.had ? 'update' : 'changed';
}

/** The memories of a store by their paths, without their contents. */
export async function memoriesByPath(store: HostedStore): Promise<Map<string, HostedMemory>> {
  const there = new Map<string, HostedMemory>();
  for await (const memory of store.memories('basic')) there.set(memory.path, memory);
  return there;
}
