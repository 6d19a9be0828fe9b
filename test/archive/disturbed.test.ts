/**
 * `export` and `import` during other writes, and with a reader that is slow or disappears.
 *
 * @module-tag long-on-pglite
 */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import type { Database } from '../../src/core/database/database.ts';
import { ServiceError } from '../../src/core/errors/errors.ts';
import { exportArchive, spoolArchive } from '../../src/features/archive/export.ts';
import { type Exported, exportEntries } from '../../src/features/archive/export-entries.ts';
import { writeTar } from '../../src/features/archive/tar.ts';
import { createArchive } from '../support/create-archive.ts';
import { assertInvariants } from '../support/invariants.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';
import { FILES, readRows, scratchDirectory, tenantWith } from '../support/transfer-files.ts';

describeService('a transfer under interference', (service, kind) => {
  it("imports all files or none, and keeps the tenant's counters exact, during other writes", async () => {
    const tenant = await tenantWith(service());
    const names = (n: number) => Array.from({ length: 40 }, (_, i) => `memories/d${i % 7}/${n}-${i}`);
    const outcomes = await Promise.all([
      ...[1, 2, 2, 3].map(async (n) => {
        const stdin = createArchive(Object.fromEntries(names(n).map((name) => [name, name])));
        return (await runCli(service(), ['import', tenant, '-'], { stdin })).error === undefined;
      }),
      ...names(1).flatMap((name, i) => [
        service().execute(cmd.create(`/${name}-beside`, name), { tenant }),
        service().execute(cmd.create(`/memories/d${i}`, 'a file where an import wants a directory'), {
          tenant,
        }),
        service().execute(cmd.delete(`/memories/d${i % 7}`), { tenant }),
      ]),
    ]);
    expect(outcomes).toContain(true);
    await assertInvariants(service());
  });

  it.runIf(kind === 'postgres')('exports the memory as it was when the export began', async () => {
    const tenant = await tenantWith(service(), {
      '/memories/a': 'a',
      '/memories/b': 'b',
      '/memories/z/c': 'c',
    });
    const before = await readRows(service(), tenant);
    const exported: Exported[] = [];
    await exportEntries(service().database, tenant, async (each) => {
      if (exported.push(each) > 1) return;
      await service().execute(cmd.rename('/memories/z', '/memories/0'), { tenant });
      await service().execute(cmd.delete('/memories/b'), { tenant });
      await service().execute(cmd.create('/memories/y', 'y'), { tenant });
    });
    expect(exported.map(({ path }) => path).sort()).toStrictEqual([...before.keys()]);
  });

  it('fails an export if its output cannot be written, and leaves no transaction or partial archive', async () => {
    const tenant = await tenantWith(service(), FILES);
    const gone = Object.assign(new Error('the reader went away'), { code: 'EPIPE' });
    const output = new Writable({ write: (_chunk, _encoding, callback) => callback(gone) });
    await expect(
      writeTar(output, true, (add) => exportEntries(service().database, tenant, add)),
    ).rejects.toBe(gone);

    const directory = await scratchDirectory();
    await writeFile(join(directory, 'old.tar'), 'the one before');
    const full = await runCli(service(), ['export', tenant, '--output', '/dev/full']);
    expect(full.error).toBe('The archive is incomplete because writing it failed (ENOSPC). Do not use it.');
    const missing = await runCli(service(), [
      'export',
      tenant,
      '--output',
      join(directory, 'missing', 'new.tar'),
    ]);
    expect(missing.error).toContain('ENOENT');
    expect(await readdir(directory)).toStrictEqual(['old.tar']);
    expect(service().database.pool().waiting).toBe(0);
    expect((await service().execute(cmd.view('/memories/a/x'), { tenant })).is_error).toBe(false);
  });

  it('aborts an export if its signal is aborted, and closes its temporary file once', async () => {
    const tenant = await tenantWith(service(), FILES);
    const left = new ServiceError('client_gone');
    const { database } = service();
    const leaving = new AbortController();
    const readTwoPages: Database = {
      ...database,
      transaction: (work, options) =>
        database.transaction(async (query) => {
          let pages = 0;
          return work(async (statement, params) => {
            const page = await query(statement, params);
            if (statement.name === 'export_files' && ++pages === 2) leaving.abort(left);
            return page;
          });
        }, options),
    };
    const { signal } = leaving;
    const spooled = spoolArchive((output) =>
      exportArchive(readTwoPages, tenant, output, { end: true, history: true, scope: null, signal }),
    );
    await expect(spooled).rejects.toBe(left);
    expect(database.pool().waiting).toBe(0);
  });

  it('reads a memory for an export only as fast as the output is read', async () => {
    const tenant = await tenantWith(service(), FILES);
    const output = new PassThrough({ highWaterMark: 1024 });
    let added = 0;
    const done = writeTar(output, true, (add) =>
      exportEntries(service().database, tenant, async (each) => {
        await add(each);
        added++;
      }),
    );
    // The reader does not read, so the export stops when the buffers are full. The large file alone exceeds them.
    while (!output.writableNeedDrain) await new Promise(setImmediate);
    for (let turn = 0; turn < 1000; turn++) await new Promise(setImmediate);
    const total = Object.keys(FILES).length;
    expect(added).toBeLessThan(total);
    output.resume();
    await done;
    expect(added).toBeGreaterThan(total);
  });
});
