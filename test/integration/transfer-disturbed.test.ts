/** `export` and `import` while others write, and with a reader that is slow or goes away. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { writeTar } from '../../src/transfer/tar.ts';
import { type Exported, Transfer } from '../../src/transfer/transfer.ts';
import { archiveOf } from '../support/archives.ts';
import { runCli } from '../support/cli.ts';
import { assertInvariants } from '../support/invariants.ts';
import { describeService } from '../support/service.ts';
import { cmd } from '../support/table.ts';
import { FILES, rowsOf, scratchFolder, tenantWith } from '../support/transfer.ts';

const unlimited = { maxFiles: 0, maxBytes: 0 };

describeService('transfer, disturbed', (service, kind) => {
  it('imports that race with other writes keep the counters exact, and happen whole or not at all', async () => {
    const tenant = await tenantWith(service());
    const names = (n: number) => Array.from({ length: 40 }, (_, i) => `memories/d${i % 7}/${n}-${i}`);
    const outcomes = await Promise.all([
      ...[1, 2, 2, 3].map(async (n) => {
        const stdin = archiveOf(Object.fromEntries(names(n).map((name) => [name, name])));
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

  it.runIf(kind === 'postgres')('an export is of one moment', async () => {
    const tenant = await tenantWith(service(), {
      '/memories/a': 'a',
      '/memories/b': 'b',
      '/memories/z/c': 'c',
    });
    const before = await rowsOf(service(), tenant);
    const exported: Exported[] = [];
    await new Transfer(service().database, unlimited).exportTo(tenant, async (each) => {
      if (exported.push(each) > 1) return;
      await service().execute(cmd.rename('/memories/z', '/memories/0'), { tenant });
      await service().execute(cmd.delete('/memories/b'), { tenant });
      await service().execute(cmd.create('/memories/y', 'y'), { tenant });
    });
    expect(exported.map(({ path }) => path).sort()).toStrictEqual([...before.keys()]);
  });

  it('an export whose reader goes away fails, and leaves neither a transaction nor half an archive', async () => {
    const tenant = await tenantWith(service(), FILES);
    const transfer = new Transfer(service().database, unlimited);
    const gone = Object.assign(new Error('the reader went away'), { code: 'EPIPE' });
    const output = new Writable({ write: (_chunk, _encoding, callback) => callback(gone) });
    await expect(writeTar(output, true, (add) => transfer.exportTo(tenant, add))).rejects.toBe(gone);

    const folder = await scratchFolder();
    await writeFile(join(folder, 'old.tar'), 'the one before');
    const full = await runCli(service(), ['export', tenant, '--output', '/dev/full']);
    expect(full.error).toBe(
      'The archive could not be written to its end (ENOSPC). Do not use what there is of it.',
    );
    const missing = await runCli(service(), [
      'export',
      tenant,
      '--output',
      join(folder, 'missing', 'new.tar'),
    ]);
    expect(missing.error).toContain('ENOENT');
    expect(await readdir(folder)).toStrictEqual(['old.tar']);
    expect(service().database.pool().waiting).toBe(0);
    expect((await service().execute(cmd.view('/memories/a/x'), { tenant })).is_error).toBe(false);
  });

  it('an export waits for its reader', async () => {
    const tenant = await tenantWith(service(), FILES);
    const output = new PassThrough({ highWaterMark: 1024 });
    let added = 0;
    const done = writeTar(output, true, (add) =>
      new Transfer(service().database, unlimited).exportTo(tenant, async (each) => {
        await add(each);
        added++;
      }),
    );
    // Nothing is read: what is ahead of the reader stays within the buffers, which the large file alone exceeds.
    while (!output.writableNeedDrain) await new Promise(setImmediate);
    for (let turn = 0; turn < 1000; turn++) await new Promise(setImmediate);
    const total = Object.keys(FILES).length;
    expect(added).toBeLessThan(total);
    output.resume();
    await done;
    expect(added).toBeGreaterThan(total);
  });
});
