/**
 * `export --history`, and `import` of the archives that it writes.
 *
 * @module-tag long-on-pglite
 */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { time } from '../../src/core/database/query.ts';
import { pruneHistory } from '../../src/core/history/pruning.ts';
import { eraseVersion } from '../../src/core/history/redact.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { createArchive } from '../support/create-archive.ts';
import { assertInvariants } from '../support/invariants.ts';
import { OPERATOR, readSnapshot, restore, run } from '../support/restore-run.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';
import { expectImportRejection, tenantWith } from '../support/transfer-files.ts';

const [a, b, c] = ['/memories/d/a.md', '/memories/b.md', '/memories/c.md'];
const MANIFEST = 'history/memory-history.json';
const VERSIONS = 'history/versions/000001.ndjson';
const DIRECTORIES = 'history/directories/000001.ndjson';

async function exportHistory(service: Service, tenant: string, ...args: string[]): Promise<Buffer> {
  const { stdout, error } = await runCli(service, ['export', tenant, '--history', ...args]);
  expect(error).toBeUndefined();
  return stdout;
}

/**
 * Creates a memory with all kinds of versions: two existing files with several versions, a deleted file, a redacted
 * version, and empty directories.
 */
async function story(service: Service): Promise<string> {
  const tenant = freshTenant('history');
  await run(service, tenant, cmd.create(a, 'Grüße\r\n'), cmd.create(b, 'one'), cmd.replace(b, 'one', 'two'));
  const past = await readSnapshot(service, tenant);
  await run(service, tenant, cmd.rename('/memories/d', '/memories/e'), cmd.create('/memories/d/x', ''));
  await run(
    service,
    tenant,
    cmd.delete('/memories/d/x'),
    cmd.create(c, 'secret'),
    cmd.replace(c, 'secret', '?'),
  );
  await run(service, tenant, cmd.rename(c, `${c}2`), cmd.delete(b));
  await restore(service, tenant, past.at, b);
  const versions = await service.query(
    `SELECT id FROM versions WHERE tenant_id = $1::text AND path = $2::text ORDER BY created_at`,
    [tenant, c],
  );
  await eraseVersion(service.database, tenant, String(versions[0]?.id), OPERATOR.origin);
  return tenant;
}

/** Returns an archive's files by name. A directory's name ends with a slash. */
function unpackFiles(archive: Buffer): Record<string, string> {
  const files: Record<string, string> = {};
  for (let at = 0; archive[at] !== 0; ) {
    const text = (from: number, to: number) =>
      archive.toString('utf8', at + from, at + to).replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 136), 8);
    files[text(0, 100)] = archive.toString('utf8', at + 512, at + 512 + size);
    at += 512 + 512 * Math.ceil(size / 512);
  }
  return files;
}

async function dump(service: Service, tenant: string) {
  const { stdout, error } = await runCli(service, ['log', tenant, '--json', '--content', '-p']);
  expect(error).toBeUndefined();
  return stdout.toString();
}

describeService('an archive with history', (service) => {
  it('imports an archive with history into an empty tenant, and exports the same archive again', async () => {
    const tenant = await story(service());
    const archive = await exportHistory(service(), tenant);
    expect((await exportHistory(service(), tenant)).equals(archive)).toBe(true);
    const other = await tenantWith(service());
    const imported = await runCli(service(), ['import', other, '-'], { stdin: archive });
    expect(imported.error).toBeUndefined();
    expect(imported.stderr).toMatch(
      /^Imported 3 files \(\d+ bytes\) and 2 directories into .*, with \d+ versions\.\n$/,
    );
    expect((await exportHistory(service(), other)).equals(archive)).toBe(true);
    expect(await dump(service(), other)).toBe(await dump(service(), tenant));
    await assertInvariants(service());

    const times = (await dump(service(), tenant))
      .split('\n')
      .flatMap((line) => (line ? JSON.parse(line).created_at : []));
    expect(times.length).toBeGreaterThan(10);
    for (const at of times) {
      const [here, there] = await Promise.all(
        [tenant, other].map((each) => runCli(service(), ['ls', each, '--at', at, '--json'])),
      );
      expect(there).toStrictEqual(here);
    }
    // Later changes follow the imported versions and can be undone down to the first version.
    await run(service(), other, cmd.create('/memories/new', 'new'));
    const last = times.at(0);
    await restore(service(), other, last);
    const undone = await runCli(service(), [
      'revert',
      other,
      '--by',
      'anonymous',
      '--since',
      times.at(-1),
      '--dry-run',
    ]);
    expect(undone.stdout.toString()).toContain(a.replace('/d/', '/e/'));
    await assertInvariants(service());
  });

  it('includes history files in an archive only with the option --history', async () => {
    const tenant = await story(service());
    const plain = await runCli(service(), ['export', tenant]);
    expect(
      Object.keys(unpackFiles(plain.stdout)).filter((name) => !name.startsWith('memories/')),
    ).toStrictEqual([]);
    const names = Object.keys(unpackFiles(await exportHistory(service(), tenant))).filter(
      (name) => !name.startsWith('memories/'),
    );
    expect(names).toStrictEqual([MANIFEST, VERSIONS, DIRECTORIES]);
  });

  it("skips an archive's history if the tenant has files, had files, or keeps no history", async () => {
    const archive = await exportHistory(service(), await story(service()));
    const leftOut = 'The history in the archive was skipped: {tenant}';
    const importInto = async (tenant: string) => {
      const { error, stderr } = await runCli(service(), ['import', tenant, '-'], { stdin: archive });
      expect(error).toBeUndefined();
      return stderr.replaceAll(tenant, '{tenant}');
    };
    const used = await tenantWith(service(), { '/memories/old': 'old' });
    const before = await dump(service(), used);
    expect(await importInto(used)).toContain(`into {tenant}.\n${leftOut} has files or its own history.\n`);
    const after = await dump(service(), used);
    expect(after.endsWith(before)).toBe(true);
    const added = after
      .slice(0, -before.length)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(added).toHaveLength(3);
    for (const { operation, actor } of added) {
      expect({ operation, type: actor.type }).toStrictEqual({ operation: 'created', type: 'operator' });
    }
    const emptied = await tenantWith(service());
    await run(service(), emptied, cmd.create('/memories/x', 'x'), cmd.delete('/memories/x'));
    expect(await importInto(emptied)).toContain(leftOut);
    const without = await tenantWith(service());
    await new Tenants(service().database).set(without, { historyDays: 0 });
    expect(await importInto(without)).toContain(`${leftOut} keeps no history.\n`);
    await assertInvariants(service());
  });

  it('imports pruned history so that pruned versions are still missing', async () => {
    const tenant = await story(service());
    const now = new Date(Date.now() + 40 * 24 * 60 * 60 * 1000);
    await pruneHistory(service().database, { historyDays: 30, maxHistoryBytes: 600, tenant, now });
    const archive = await exportHistory(service(), tenant);
    const other = await tenantWith(service());
    expect((await runCli(service(), ['import', other, '-'], { stdin: archive })).error).toBeUndefined();
    expect((await exportHistory(service(), other)).equals(archive)).toBe(true);
    const [made] = await service().query(`SELECT ${time('created_at')} AS at FROM tenants WHERE id = $1`, [
      other,
    ]);
    const rejected = await runCli(service(), ['ls', other, '--at', String(made?.at)]);
    expect(rejected.error).toContain('is complete only since');
    await assertInvariants(service());
  });

  it("masks secrets in an archive's past contents if the tenant's setting is SECRETS=mask", async () => {
    const tenant = freshTenant('history');
    const secret = `ghp_${'x9'.repeat(18)}`;
    await run(service(), tenant, cmd.create(b, `token ${secret}\n`), cmd.replace(b, secret, 'gone'));
    await run(service(), tenant, cmd.create(c, `live ${secret}\n`), cmd.rename(c, '/memories/d'));
    const archive = await exportHistory(service(), tenant);
    const other = await tenantWith(service());
    await new Tenants(service().database).set(other, { secrets: 'reject' });
    expect(await expectImportRejection(service(), other, ['-'], { stdin: archive })).toContain(
      'looks like a secret',
    );
    await new Tenants(service().database).set(other, { secrets: 'mask' });
    expect((await runCli(service(), ['import', other, '-'], { stdin: archive })).error).toBeUndefined();
    expect((await exportHistory(service(), other)).includes(secret)).toBe(false);
    expect((await dump(service(), other)).split('\n').filter(Boolean)).toHaveLength(4);
    await assertInvariants(service());
  });

  it('imports a history whose pages and past contents exceed the file size limit', async () => {
    const tenant = freshTenant('history');
    await run(service(), tenant, cmd.create(b, 'long '.repeat(100)), cmd.delete(b), cmd.create(b, 'short'));
    const archive = await exportHistory(service(), tenant);
    const other = await tenantWith(service());
    await new Tenants(service().database).set(other, { maxFileBytes: 10 });
    expect((await runCli(service(), ['import', other, '-'], { stdin: archive })).error).toBeUndefined();
    expect((await exportHistory(service(), other)).equals(archive)).toBe(true);
    await assertInvariants(service());
  });

  it('rejects an archive whose history has a secret in a path, without quoting the secret', async () => {
    const tenant = freshTenant('history');
    const secret = `ghp_${'x9'.repeat(18)}`;
    await run(
      service(),
      tenant,
      cmd.create(`/memories/${secret}`, 'x'),
      cmd.rename(`/memories/${secret}`, b),
    );
    const archive = await exportHistory(service(), tenant);
    const other = await tenantWith(service());
    for (const secrets of ['mask', 'reject'] as const) {
      await new Tenants(service().database).set(other, { secrets });
      expect(await expectImportRejection(service(), other, ['-'], { stdin: archive })).toBe(
        `Cannot import ${VERSIONS}: a path in it, /memories/[REDACTED:github_token], contains what looks like a secret (github_token). Redact the versions with that path and export again, or import only the directory memories/ of the archive, without the history.`,
      );
    }
    await new Tenants(service().database).set(other, { secrets: 'store' });
    expect((await runCli(service(), ['import', other, '-'], { stdin: archive })).error).toBeUndefined();
    expect((await exportHistory(service(), other)).equals(archive)).toBe(true);
  });

  it('rejects an archive whose history was tampered with', async () => {
    const files = unpackFiles(await exportHistory(service(), await story(service())));
    const other = await tenantWith(service());
    const intact = { stdin: createArchive(files) };
    expect(
      (await runCli(service(), ['import', await tenantWith(service()), '-'], intact)).error,
    ).toBeUndefined();
    const importChanged = async (change: Record<string, string | undefined>) => {
      const changed = Object.entries({ ...files, ...change }).filter(
        (each): each is [string, string] => each[1] !== undefined,
      );
      const message = await expectImportRejection(service(), other, ['-'], {
        stdin: createArchive(Object.fromEntries(changed)),
      });
      expect(
        await service().query('SELECT id FROM versions WHERE tenant_id = $1::text', [other]),
      ).toStrictEqual([]);
      expect(message).toContain(
        'Export it again, or import only the directory memories/ of the archive, without the history.',
      );
      return message
        ?.replace('The history in the archive is damaged: ', '')
        .replace(/\. Export it again.*$/, '')
        .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'ID');
    };
    type Line = Record<string, unknown>;
    const lines = String(files[VERSIONS])
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line);
    const versions = (edit: (all: Line[]) => Line[]) => ({
      [VERSIONS]: edit(structuredClone(lines))
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    });
    /** Changes one of the matching versions. */
    const changeLine = (fits: (line: Line) => boolean, change: Line) =>
      versions((all) => {
        const found = all.find(fits);
        expect(found).toBeDefined();
        Object.assign(found ?? {}, change);
        return all;
      });
    const isHead = (line: Line) => line.superseded_at === null;
    const isPast = (line: Line) => !isHead(line) && line.content !== null;

    expect(await importChanged({ [MANIFEST]: undefined })).toBe('history/memory-history.json is missing');
    expect(await importChanged({ [MANIFEST]: '{"format":2}' })).toBe(
      'history/memory-history.json: format is not valid in an export',
    );
    expect(await importChanged({ 'memories/b.md': 'other' })).toBe(
      'version ID lacks its content or its time, or is there twice',
    );
    expect(await importChanged({ 'memories/more': 'x' })).toBe('it has 3 live files, and the memory has 4');
    expect(await importChanged({ 'history/other': 'x' })).toBe('history/other does not belong to it');
    expect(await importChanged({ [VERSIONS]: '{}\n' })).toBe(
      `${VERSIONS}, line 1: id is not valid in an export`,
    );
    expect(await importChanged({ [VERSIONS]: 'secret' })).toBe(
      `${VERSIONS} is not a page of at most 500 lines`,
    );
    expect(await importChanged(versions((all) => all.slice(1)))).toMatch(
      /^it has \d+ versions instead of \d+$/,
    );
    expect(await importChanged(versions((all) => [...all.slice(0, -1), all.at(-2) ?? {}]))).toMatch(
      /there twice$/,
    );
    for (const change of [
      { path: '/etc/passwd' },
      { path: '/memories/../x' },
      { id: 'x' },
      { created_at: '2026-02-30T00:00:00.000000Z' },
      { operation: 'moved' },
      { splice_start: -1 },
      { splice_length: 5 },
      { actor: { type: 'root' } },
      { unknown: 1 },
      { content_sha256: null },
      { redacted_at: '2026-01-01T00:00:00.000000Z' },
    ]) {
      expect(await importChanged(changeLine(isPast, change))).toMatch(/is not valid in an export$/);
    }
    for (const change of [
      { content_sha256: '0'.repeat(64) },
      { content_size_bytes: 2 },
      { content: 'other' },
      { splice_start: 0, splice_length: 1, content: '' },
      { memory_id: randomUUID(), splice_start: 0, splice_length: 5 },
    ]) {
      expect(await importChanged(changeLine(isPast, change))).toBe('version ID lacks its content');
    }
    expect(await importChanged(changeLine(isPast, { id: randomUUID() }))).toBe(
      'version ID lacks its content or its time, or is there twice',
    );
    expect(await importChanged(changeLine(isHead, { path: '/memories/other' }))).toBe(
      'version ID lacks its content or its time, or is there twice',
    );
    expect(await importChanged(changeLine(isPast, { superseded_at: '2999-01-01T00:00:00.000000Z' }))).toMatch(
      /is in the future$|is not over when the next one of its file begins$|was two things at a time$/,
    );
    expect(
      await importChanged({
        [DIRECTORIES]: String(files[DIRECTORIES]).replace('"removed_at":"2', '"removed_at":"9'),
      }),
    ).toMatch(/is in the future$|was two things at a time$/);
    await assertInvariants(service());
  });

  it('rejects --into for an archive with history', async () => {
    const archive = await exportHistory(service(), await story(service()));
    const other = await tenantWith(service());
    for (const args of [
      ['--into', '/memories/x'],
      ['--strip', '1', '--into', '/memories/x'],
    ]) {
      expect(await expectImportRejection(service(), other, ['-', ...args], { stdin: archive })).toBe(
        'Cannot import history/memory-history.json: an archive with a history can be imported only as a whole, at its own paths. Unpack it, and import its directory memories/. Or omit --into and --strip.',
      );
    }
  });
});
