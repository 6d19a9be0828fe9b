import { lstat, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect, inject } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { readTree } from './invariants.ts';
import { runCli } from './run-cli.ts';
import { cmd } from './step-table.ts';
import { freshTenant, type Service } from './test-service.ts';

/** Creates a directory for the files in one test. */
export const scratchDirectory = () => mkdtemp(join(inject('scratch'), 'transfer-'));

const long = (length: number) => 'n'.repeat(length);
/** Files whose names, sizes, and contents are hard to transfer. */
export const FILES: Record<string, string> = {
  '/memories/a.md': 'one\r\ntwo\n',
  // Sorts between a directory and its contents.
  '/memories/a/x': 'x',
  '/memories/a-b': '',
  '/memories/a/deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/f': 'deepest',
  '/memories/.hidden/node_modules/f': 'hidden',
  '/memories/it\'s 100%/"quoted" {a,b} NULL': '{"a,b",NULL,\\"}',
  '/memories/日本/é😀': 'Grüße\n',
  '/memories/\uFFFD.md': 'what is left of bytes that were no UTF-8',
  [`/memories/${long(255)}`]: 'name of the greatest length',
  [`/memories/${[250, 250, 250, 250].map(long).join('/')}`]: 'path of nearly the greatest length',
  ...Object.fromEntries([511, 512, 513].map((bytes) => [`/memories/${bytes}`, 'b'.repeat(bytes)])),
  '/memories/large': 'a line\n'.repeat(149_000),
};

async function fill(service: Service, tenant: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const { content } = await service.execute(cmd.create(path, text), { tenant });
    expect(content).toBe(`File created successfully at: ${path}`);
  }
  await service.execute(cmd.create('/memories/empty/directory/f'), { tenant });
  await service.execute(cmd.delete('/memories/empty/directory/f'), { tenant });
  // Every entry has a different time.
  await service.query(
    `UPDATE entries AS e SET updated_at = to_timestamp(1709210096.789 + n.n * 60),
       changed_at = CASE kind WHEN 'dir' THEN to_timestamp(1709210096.789 + n.n * 60) ELSE changed_at END
     FROM (SELECT path, row_number() OVER (ORDER BY path) AS n FROM entries WHERE tenant_id = $1::text) AS n
     WHERE e.tenant_id = $1::text AND e.path = n.path`,
    [tenant],
  );
}

/** Creates a tenant with the given files and an empty directory, or an empty tenant. */
export async function tenantWith(service: Service, files: Record<string, string> = {}): Promise<string> {
  const tenant = freshTenant();
  await new Tenants(service.database).create(tenant);
  if (Object.keys(files).length > 0) await fill(service, tenant, files);
  return tenant;
}

export type Entry = [content: string | null, seconds: number];

export async function readRows(service: Service, tenant: string): Promise<Map<string, Entry>> {
  const rows = await service.query(
    `SELECT path, content, floor(extract(epoch FROM updated_at))::float8 AS seconds FROM entries
     WHERE tenant_id = $1::text ORDER BY path`,
    [tenant],
  );
  return new Map(rows.map((row) => [String(row.path), [row.content as string | null, Number(row.seconds)]]));
}

/** Reads a directory in the form that `readRows` returns. */
export async function readDirectoryTree(directory: string): Promise<Map<string, Entry>> {
  const tree: [string, Entry][] = [];
  for (const name of await readdir(directory, { recursive: true })) {
    const path = join(directory, name);
    const stat = await lstat(path);
    const content = stat.isDirectory() ? null : await readFile(path, 'utf8');
    tree.push([`/${name}`, [content, Math.floor(stat.mtimeMs / 1000)]]);
  }
  return new Map(tree.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
}

/**
 * Tries an import that must be rejected without any change. Returns its message, with `{tenant}` for the tenant's ID.
 */
export async function expectImportRejection(
  service: Service,
  tenant: string,
  args: string[],
  options?: { stdin: Readable | Buffer },
): Promise<string | undefined> {
  const before = await readTree(service, tenant);
  const { error, stdout } = await runCli(service, ['import', tenant, ...args], options);
  expect(stdout.toString()).toBe('');
  expect(await readTree(service, tenant)).toStrictEqual(before);
  return error?.replaceAll(tenant, '{tenant}').replace(/\nNothing was imported\.$/, '');
}
