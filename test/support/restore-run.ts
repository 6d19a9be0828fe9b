import { expect } from 'vitest';
import type { ChangeOptions } from '../../src/core/history/apply.ts';
import { MergeThreads } from '../../src/core/history/line-merge.ts';
import type { Changes } from '../../src/core/history/log.ts';
import { restoreAt } from '../../src/core/history/restore.ts';
import { type MemoryPath, ROOT } from '../../src/core/memory/path.ts';
import { readTree } from './invariants.ts';
import type { Service } from './test-service.ts';

export const OPERATOR: ChangeOptions & { threads: MergeThreads } = {
  origin: { actor: { type: 'operator', name: 'ada' } },
  defaults: { maxFiles: 0, maxBytes: 0, historyDays: 30, maxHistoryBytes: 0 },
  keptOut: undefined,
  // Starts a thread for long texts only, and ends an idle thread.
  threads: new MergeThreads(),
};

/** Executes each step and throws if one fails. */
export async function run(service: Service, tenant: string, ...steps: object[]): Promise<void> {
  for (const step of steps) {
    expect((await service.execute(step, { tenant })).body).toMatchObject({ is_error: false });
  }
}

/** A memory at one time: the time, the tree, and the files' IDs. */
export interface Snapshot {
  at: string;
  tree: ReadonlyMap<string, string | null>;
  ids: ReadonlyMap<string, string>;
}

/** Returns the memory at the time of a tenant's last change. */
export async function readSnapshot(service: Service, tenant: string): Promise<Snapshot> {
  const [row] = await service.query(
    `SELECT to_char(last_change_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
     FROM tenants WHERE id = $1::text`,
    [tenant],
  );
  const heads = await service.query(
    "SELECT path, memory_id FROM entries WHERE kind = 'file' AND tenant_id = $1::text",
    [tenant],
  );
  return {
    at: String(row?.at),
    tree: await readTree(service, tenant),
    ids: new Map(heads.map(({ path, memory_id }) => [String(path), String(memory_id)])),
  };
}

/**
 * Restores a memory or a part of it. Returns the lines that the command would print for files and then for directories.
 */
export async function restore(
  service: Service,
  tenant: string,
  at: string,
  path: string = ROOT,
): Promise<string[]> {
  return lines(await restoreAt(service.database, tenant, { path: path as MemoryPath, at }, OPERATOR));
}

export function lines({ files, directoriesMade, directoriesRemoved }: Changes): string[] {
  return [
    ...files.map((file) =>
      file.change === 'renamed'
        ? `${file.contentChanged ? 'RM' : 'R'} ${file.from} -> ${file.path}`
        : `${file.change.slice(0, 1).toUpperCase()} ${file.path}`,
    ),
    ...directoriesMade.map((path) => `+ ${path}`),
    ...directoriesRemoved.map((path) => `- ${path}`),
  ];
}
