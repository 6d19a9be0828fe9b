import { ServiceError } from '../errors.ts';
import { MAX_DEPTH, MAX_PATH_BYTES, type MemoryPath } from '../memory/path.ts';
import type { Created, Edit, Edited, OverQuota, Renamed } from '../memory/store.ts';
import type { Run } from './statement.ts';
import {
  explainCreateStatement,
  explainRenameStatement,
  explainWriteStatement,
  type UsageRow,
} from './statements/obstacles.ts';

/*
 * Why a write that was tried could not be done. Each answers undefined when nothing stands in its way (any more).
 */

/** What a tenant may use when nothing else is said for it; 0 means no limit. */
export interface Quotas {
  maxFiles: number;
  maxBytes: number;
}

/** @throws ServiceError 403 when there is no such tenant and it is not to be made. */
export async function whyNotCreated(
  run: Run,
  file: { tenant: string; path: MemoryPath; ancestors: MemoryPath[]; content: string },
  options: { quotas: Quotas; autoCreate: boolean },
): Promise<Created | undefined> {
  const { tenant, path, ancestors, content } = file;
  const { quotas, autoCreate } = options;
  const { rows } = await run(explainCreateStatement, { tenant, paths: [path, ...ancestors], ...quotas });
  const kinds = new Map(rows.map((row) => [row.path, row.kind]));
  if (kinds.has(path)) return { kind: 'exists' };
  const above = fileAmong(ancestors, kinds);
  if (above) return above;
  const usage = rows.find((row) => row.kind === 'tenant');
  if (usage === undefined && !autoCreate) throw unknownTenant(tenant);
  return overQuota(usage ?? { files: 0, bytes: 0, ...quotas }, 1, Buffer.byteLength(content));
}

/** @param change is applied to what the file holds by now. */
export async function whyNotEdited(
  run: Run,
  { tenant, path }: { tenant: string; path: MemoryPath },
  change: (content: string) => Edit | Promise<Edit>,
  quotas: Quotas,
): Promise<Edited | undefined> {
  const found = (await run(explainWriteStatement, { tenant, path, ...quotas })).rows[0];
  if (found === undefined) return { kind: 'missing' };
  const { content, result } = await change(found.content);
  if (content === undefined) return { kind: 'refused', result };
  return overQuota(found, 0, Buffer.byteLength(content) - Buffer.byteLength(found.content));
}

export async function whyNotRenamed(
  run: Run,
  move: { tenant: string; from: MemoryPath; to: MemoryPath; ancestors: MemoryPath[]; intoItself: boolean },
): Promise<Renamed | undefined> {
  const { tenant, from, to, ancestors, intoItself } = move;
  const { rows } = await run(explainRenameStatement, {
    tenant,
    from,
    to,
    paths: [from, to, ...ancestors],
    maxBytes: MAX_PATH_BYTES,
    maxDepth: MAX_DEPTH,
  });
  const tooLong = rows.find(({ kind }) => kind === 'too_long');
  const kinds = new Map(rows.filter((row) => row !== tooLong).map(({ path, kind }) => [path, kind]));
  if (kinds.has(to)) return { kind: 'destination_exists' };
  if (!kinds.has(from)) return { kind: 'source_missing' };
  if (intoItself) return { kind: 'inside_itself' };
  return fileAmong(ancestors, kinds) ?? (tooLong && { kind: 'too_long', path: tooLong.path });
}

function fileAmong(paths: MemoryPath[], kinds: Map<string, string>) {
  const path = paths.find((each) => kinds.get(each) === 'file');
  return path && ({ kind: 'not_a_directory', path } as const);
}

/** What is exceeded by so many more files and bytes; undefined when there is room. Less than before always has room. */
function overQuota(usage: UsageRow, files: number, bytes: number): OverQuota | undefined {
  const { maxFiles, maxBytes } = usage;
  if (files > 0 && maxFiles > 0 && usage.files + files > maxFiles) {
    return { kind: 'over_quota', of: 'files', used: usage.files, limit: maxFiles, needed: files };
  }
  if (bytes > 0 && maxBytes > 0 && usage.bytes + bytes > maxBytes) {
    return { kind: 'over_quota', of: 'bytes', used: usage.bytes, limit: maxBytes, needed: bytes };
  }
  return undefined;
}

/** The tenant is not there, and nothing here makes it. */
export function unknownTenant(tenant: string): ServiceError {
  return new ServiceError(
    403,
    'unknown_tenant',
    `There is no tenant ${tenant}. Create it with: memory-service tenants create ${tenant}`,
  );
}
