/**
 * `restore`: restored files, deleted files, and conflicts.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { History } from '../../src/core/history/history.ts';
import { findAt } from '../../src/core/history/past.ts';
import { restoreAt, restoreVersion } from '../../src/core/history/restore.ts';
import type { Version } from '../../src/core/history/version.ts';
import { type MemoryPath, ROOT } from '../../src/core/memory/path.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { lines, OPERATOR, readSnapshot, restore, run, type Snapshot } from '../support/restore-run.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

async function readVersions(service: Service, tenant: string): Promise<Version[]> {
  const all: Version[] = [];
  for await (const version of new History(service.database).versions(tenant)) all.push(version);
  return all;
}

const a = '/memories/a';
const b = '/memories/b';

describeService('a restore', (service) => {
  it('restores contents, paths, IDs, and directories to their state at each past time', async () => {
    const tenant = freshTenant();
    const steps = [
      cmd.create('/memories/d/f', '1'),
      cmd.create('/memories/d/e/g', '22'),
      cmd.create(a, 'a'),
      cmd.replace('/memories/d/f', '1', '111'),
      cmd.rename('/memories/d/e', '/memories/h/i'),
      cmd.delete('/memories/h/i/g'),
      cmd.delete('/memories/d'),
      cmd.create('/memories/d', 'a file'),
      cmd.rename('/memories/d', '/memories/h/i/g'),
      cmd.rename(a, b),
      cmd.create(a, 'another'),
      cmd.create('/memories/x/y/z/deep', ''),
      cmd.delete('/memories/x/y/z/deep'),
      cmd.delete('/memories/h'),
    ];
    const snapshots: Snapshot[] = [];
    for (const step of steps) {
      await run(service(), tenant, step);
      snapshots.push(await readSnapshot(service(), tenant));
    }
    // Alternates between late and early times: 13, 0, 12, 1, …
    const order = snapshots.flatMap((_, i) => [snapshots.at(-1 - i), snapshots[i]]);
    for (const then of order) {
      await restore(service(), tenant, then?.at ?? '');
      const now = await readSnapshot(service(), tenant);
      expect({ tree: now.tree, ids: now.ids }).toEqual({ tree: then?.tree, ids: then?.ids });
    }
    await assertInvariants(service());
  });

  it("records a restore as the operator's change, which another restore can undo", async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(a, '1'), cmd.create(b, 'b'));
    const before = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.replace(a, '1', '2'), cmd.delete(b), cmd.create('/memories/c', 'c'));
    const after = await readSnapshot(service(), tenant);

    expect(await restore(service(), tenant, before.at)).toStrictEqual([`M ${a}`, `A ${b}`, 'D /memories/c']);
    const recorded = (await readVersions(service(), tenant)).slice(0, 3);
    expect(recorded.map(({ operation, path }) => `${operation} ${path}`).sort()).toStrictEqual([
      `created ${b}`,
      'deleted /memories/c',
      `modified ${a}`,
    ]);
    expect(new Set(recorded.map(({ createdAt }) => createdAt)).size).toBe(1);
    for (const { actor } of recorded) expect(actor).toStrictEqual(OPERATOR.origin.actor);
    expect(await restore(service(), tenant, after.at)).toStrictEqual([`M ${a}`, `D ${b}`, 'A /memories/c']);
    expect(await readSnapshot(service(), tenant)).toMatchObject({ tree: after.tree, ids: after.ids });
    await run(service(), tenant, cmd.replace(a, '2', '3'));
    await assertInvariants(service());
  });

  it("shows the restored file at the restore's time, not the file that it replaced", async () => {
    const tenant = freshTenant();
    // The IDs in one change are unordered, so some IDs for created files sort before the IDs for deletions, and some
    // after.
    const paths = Array.from({ length: 8 }, (_, n) => `/memories/${n}` as MemoryPath);
    await run(service(), tenant, ...paths.map((path) => cmd.create(path, 'old')));
    const before = await readSnapshot(service(), tenant);
    await run(service(), tenant, ...paths.flatMap((path) => [cmd.delete(path), cmd.create(path, 'new')]));
    await restore(service(), tenant, before.at);
    const { at } = await readSnapshot(service(), tenant);
    const history = new History(service().database);
    for (const path of paths) {
      expect(await findAt(history, tenant, path, at)).toMatchObject({ kind: 'file', content: 'old' });
    }
  });

  it('swaps the paths of files and directories', async () => {
    const tenant = freshTenant();
    await run(
      service(),
      tenant,
      cmd.create(a, 'A'),
      cmd.create('/memories/d/f', 'F'),
      cmd.create('/memories/e', 'E'),
    );
    await run(service(), tenant, cmd.create('/memories/d/c/1', '1'), cmd.create('/memories/d/c/2', '2'));
    const before = await readSnapshot(service(), tenant);
    const t = '/memories/t';
    const swap = (x: string, y: string) => [cmd.rename(x, t), cmd.rename(y, x), cmd.rename(t, y)];
    await run(service(), tenant, ...swap(a, '/memories/e'), ...swap('/memories/d/c/1', '/memories/d/c/2'));
    await run(service(), tenant, ...swap('/memories/d', a), ...swap(`${a}/f`, `${a}/c`));
    await run(service(), tenant, cmd.insert(`${a}/c`, 0, 'edited\n'));
    expect(await restore(service(), tenant, before.at)).toStrictEqual([
      'R /memories/e -> /memories/a',
      'R /memories/a/f/2 -> /memories/d/c/1',
      'R /memories/a/f/1 -> /memories/d/c/2',
      'RM /memories/a/c -> /memories/d/f',
      'R /memories/d -> /memories/e',
      '+ /memories/d',
      '+ /memories/d/c',
      '- /memories/a',
      '- /memories/a/f',
    ]);
    expect(await readSnapshot(service(), tenant)).toMatchObject({ tree: before.tree, ids: before.ids });
    await assertInvariants(service());
  });

  it('moves files back and deletes new files below the restored directory, but changes no other path', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/d/stays', '1'), cmd.create('/memories/d/leaves', '2'));
    await run(service(), tenant, cmd.create('/memories/o/comes', '3'), cmd.create('/memories/other', '4'));
    const before = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.rename('/memories/d/leaves', '/memories/left'));
    await run(
      service(),
      tenant,
      cmd.rename('/memories/o/comes', '/memories/d/n/comes'),
      cmd.delete('/memories/o'),
    );
    await run(
      service(),
      tenant,
      cmd.replace('/memories/other', '4', '5'),
      cmd.create('/memories/d/new', '6'),
    );
    expect(await restore(service(), tenant, before.at, '/memories/d')).toStrictEqual([
      'R /memories/left -> /memories/d/leaves',
      'D /memories/d/new',
      'R /memories/d/n/comes -> /memories/o/comes',
      '+ /memories/o',
      '- /memories/d/n',
    ]);
    const tree = new Map(before.tree).set('/memories/other', '5');
    expect(await readTree(service(), tenant)).toEqual(tree);
    await assertInvariants(service());
  });

  it('deletes a path that did not exist at that time, and recreates a deleted path with its parents', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(a, 'a'));
    const before = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.create('/memories/x/y/f', 'f'), cmd.create('/memories/x/y/e/f', 'f'));
    await run(service(), tenant, cmd.delete('/memories/x/y/e/f'));
    const between = await readSnapshot(service(), tenant);
    expect(await restore(service(), tenant, before.at, '/memories/x')).toStrictEqual([
      'D /memories/x/y/f',
      '- /memories/x',
      '- /memories/x/y',
      '- /memories/x/y/e',
    ]);
    await expect(restore(service(), tenant, before.at, '/memories/x')).rejects.toThrow(
      '/memories/x does not exist, now or at that time.',
    );
    expect(await restore(service(), tenant, between.at, '/memories/x/y/e')).toStrictEqual([
      '+ /memories/x',
      '+ /memories/x/y',
      '+ /memories/x/y/e',
    ]);
    expect(await restore(service(), tenant, between.at, '/memories/x/y/f')).toStrictEqual([
      'A /memories/x/y/f',
    ]);
    expect(await restore(service(), tenant, between.at)).toStrictEqual([]);
    await expect(restore(service(), tenant, between.at, '/memories/none')).rejects.toThrow(
      '/memories/none does not exist, now or at that time.',
    );
    await assertInvariants(service());
  });

  it('records no version if the restored content equals the current content', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(a, 'one'), cmd.create(b, 'x'));
    const before = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.replace(a, 'one', 'two'), cmd.replace(a, 'two', 'one'));
    await run(
      service(),
      tenant,
      cmd.replace(b, 'x', 'y'),
      cmd.replace(b, 'y', 'x'),
      cmd.rename(b, '/memories/c'),
    );
    expect(await restore(service(), tenant, before.at)).toStrictEqual([`R /memories/c -> ${b}`]);
    await assertInvariants(service());
  });

  it('restores no file if another entry occupies a path that the restore needs', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/d/f', '1'), cmd.create('/memories/d/g', '2'));
    const before = await readSnapshot(service(), tenant);
    await run(
      service(),
      tenant,
      cmd.rename('/memories/d/f', '/memories/n/f'),
      cmd.create('/memories/d/f', 'new'),
    );
    const now = await readSnapshot(service(), tenant);
    await expect(restore(service(), tenant, before.at, '/memories/n')).rejects.toThrow(
      'Cannot restore /memories/d/f: /memories/d/f is occupied.',
    );
    await run(service(), tenant, cmd.delete('/memories/d'), cmd.create('/memories/d', 'a file'));
    await expect(restore(service(), tenant, before.at, '/memories/n')).rejects.toThrow(
      '/memories/d is occupied.',
    );
    await expect(restore(service(), tenant, now.at, '/memories/d/g')).rejects.toThrow(
      '/memories/d is occupied.',
    );
    expect((await readTree(service(), tenant)).get('/memories/n/f')).toBe('1');
    await assertInvariants(service());
  });

  it('restores no file if the memory would grow beyond the quota', async () => {
    const tenant = freshTenant();
    await run(
      service(),
      tenant,
      cmd.create('/memories/d/f', 'x'.repeat(50)),
      cmd.create('/memories/e/g', 'y'),
    );
    const large = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.delete('/memories/d'), cmd.create(a, 'a'));
    const small = await readSnapshot(service(), tenant);
    const tenants = new Tenants(service().database);
    await tenants.set(tenant, { maxBytes: 40 });
    await expect(restore(service(), tenant, large.at)).rejects.toThrow(
      `Tenant ${tenant} uses 2 of 40 bytes, and the restore needs 49 more.`,
    );
    await tenants.set(tenant, { maxBytes: null, maxFiles: 1 });
    await expect(restore(service(), tenant, large.at)).rejects.toThrow(
      'uses 1 of 1 directory, and the restore needs 1 more.',
    );
    expect(await readSnapshot(service(), tenant)).toEqual(small);
    await tenants.set(tenant, { maxFiles: 2 });
    await restore(service(), tenant, large.at);
    await tenants.set(tenant, { maxFiles: 1, maxBytes: 1 });
    await restore(service(), tenant, small.at);
    expect(await readTree(service(), tenant)).toEqual(small.tree);
    await assertInvariants(service());
  });

  it('rejects a restore only if a required version was pruned or redacted', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/d/f', 'secret'), cmd.create('/memories/e/g', '1'));
    const then = await readSnapshot(service(), tenant);
    await run(
      service(),
      tenant,
      cmd.replace('/memories/d/f', 'secret', 'none'),
      cmd.replace('/memories/e/g', '1', '2'),
    );
    const [secret] = (await readVersions(service(), tenant)).filter(
      ({ contentSizeBytes }) => contentSizeBytes === 6,
    );
    await service().query(`SELECT memory_redact($1::text, $2::text::uuid, '{"type":"anonymous"}')`, [
      tenant,
      secret?.id,
    ]);
    for (const path of [ROOT, '/memories/d', '/memories/d/f']) {
      await expect(restore(service(), tenant, then.at, path)).rejects.toThrow(
        `This requires version ${secret?.id}, which has been redacted.`,
      );
    }
    await expect(
      restoreVersion(service().database, tenant, { version: secret?.id ?? '' }, OPERATOR),
    ).rejects.toThrow('has been redacted');
    expect(await restore(service(), tenant, then.at, '/memories/e')).toStrictEqual(['M /memories/e/g']);

    await service().query('UPDATE tenants SET history_since = last_change_at WHERE id = $1', [tenant]);
    await expect(restore(service(), tenant, then.at, '/memories/e')).rejects.toMatchObject({
      code: 'history_incomplete',
    });
    // A file whose required version exists can be restored nevertheless.
    await run(service(), tenant, cmd.replace('/memories/e/g', '1', '3'));
    expect(await restore(service(), tenant, then.at, '/memories/e/g')).toStrictEqual(['M /memories/e/g']);
    await assertInvariants(service());
  });

  it('restores a version to its own path or to another path', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/d/f', '1'), cmd.replace('/memories/d/f', '1', '2'));
    await run(service(), tenant, cmd.delete('/memories/d'), cmd.create('/memories/d/f', 'other'));
    const [other, deleted, second, first] = await readVersions(service(), tenant);
    const restoreTo = async (version: Version | undefined, path?: string) =>
      lines(
        await restoreVersion(
          service().database,
          tenant,
          { version: version?.id ?? '', path: path as MemoryPath },
          OPERATOR,
        ),
      );
    await expect(restoreTo(first)).rejects.toThrow(
      `Cannot restore /memories/d/f: /memories/d/f is occupied.`,
    );
    await expect(restoreTo(deleted)).rejects.toThrow(`Version ${deleted?.id} records a deletion`);
    await expect(restoreVersion(service().database, tenant, { version: 'x' }, OPERATOR)).rejects.toThrow(
      `Version x of ${tenant} does not exist.`,
    );
    expect(await restoreTo(first, '/memories/n/f')).toStrictEqual(['A /memories/n/f', '+ /memories/n']);
    expect((await readSnapshot(service(), tenant)).ids.get('/memories/n/f')).toBe(first?.memoryId);
    expect(await restoreTo(second, '/memories/n/f')).toStrictEqual(['M /memories/n/f']);
    expect(await restoreTo(other)).toStrictEqual([]);
    await run(service(), tenant, cmd.delete('/memories/d'));
    expect(await restoreTo(second)).toStrictEqual(['R /memories/n/f -> /memories/d/f', '+ /memories/d']);
    expect((await readTree(service(), tenant)).get('/memories/d/f')).toBe('2');
    await assertInvariants(service());
  });

  it.each(['1', '2'])('copies version %s to another path, and keeps the current file', async (content) => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/a', '1'), cmd.replace('/memories/a', '1', '2'));
    await run(service(), tenant, cmd.rename('/memories/a', '/memories/b'));
    const now = await readSnapshot(service(), tenant);
    const all = await readVersions(service(), tenant);
    // The second content is the current file's content.
    const version = all.find(({ operation }) => (operation === 'created') === (content === '1'))?.id ?? '';
    const restoreTo = (path: string, options = OPERATOR) =>
      restoreVersion(service().database, tenant, { version, path: path as MemoryPath }, options);
    expect(lines(await restoreTo('/memories/d/copy', { ...OPERATOR, dryRun: true }))).toStrictEqual([
      'A /memories/d/copy',
      '+ /memories/d',
    ]);
    expect(await readSnapshot(service(), tenant)).toEqual(now);
    expect(lines(await restoreTo('/memories/d/copy'))).toStrictEqual(['A /memories/d/copy', '+ /memories/d']);
    // The copy is also created at the path that the version had.
    const { files } = await restoreTo('/memories/a');
    const after = await readSnapshot(service(), tenant);
    expect(Object.fromEntries(after.tree)).toMatchObject({
      '/memories/a': content,
      '/memories/b': '2',
      '/memories/d/copy': content,
    });
    expect(after.ids.get('/memories/b')).toBe(now.ids.get('/memories/b'));
    expect(files).toStrictEqual([
      {
        change: 'added',
        memoryId: after.ids.get('/memories/a'),
        path: '/memories/a',
        oldVersion: null,
        version,
        mergedSha256: null,
      },
    ]);
    const [copied] = await readVersions(service(), tenant);
    expect(copied).toMatchObject({ operation: 'created', actor: OPERATOR.origin.actor });
    for (const [path, at] of [
      ['/memories', '/memories'],
      ['/memories/d', '/memories/d'],
      ['/memories/a', '/memories/a'],
      ['/memories/a/f', '/memories/a'],
    ] as const) {
      await expect(restoreTo(path)).rejects.toThrow(`Cannot restore ${path}: ${at} is occupied.`);
    }
    await new Tenants(service().database).set(tenant, { maxFiles: 3 });
    await expect(restoreTo('/memories/e')).rejects.toThrow('and the restore needs 1');
    await assertInvariants(service());
  });

  it("records no superseded versions if the tenant's history is disabled", async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(a, '1'), cmd.create(b, 'b'));
    const then = await readSnapshot(service(), tenant);
    await run(
      service(),
      tenant,
      cmd.replace(a, '1', '2'),
      cmd.rename(b, '/memories/c'),
      cmd.create('/memories/d/f', ''),
    );
    await new Tenants(service().database).set(tenant, { historyDays: 0 });
    const before = (await readVersions(service(), tenant)).length;
    await restore(service(), tenant, then.at);
    expect(await readTree(service(), tenant)).toEqual(then.tree);
    // The two restored files have one superseded version fewer than the three current files.
    expect(await readVersions(service(), tenant)).toHaveLength(before - 1);
    await expect(restore(service(), tenant, then.at)).rejects.toMatchObject({ code: 'history_incomplete' });
    await assertInvariants(service());
  });

  it('rejects a restore if the tenant is unknown or did not exist at the given time', async () => {
    await expect(restore(service(), 'no-such-tenant', '2026-01-01T00:00:00Z')).rejects.toThrow(
      /^Tenant .* does not exist\.$/,
    );
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(a, '1'));
    await expect(restore(service(), tenant, '2020-01-01T00:00:00Z')).rejects.toMatchObject({
      code: 'history_incomplete',
    });
  });

  it('prints a line for each file and a summary, in a dry run as well as in a restore', async () => {
    const tenant = freshTenant();
    await run(
      service(),
      tenant,
      cmd.create('/memories/d/a', '1'),
      cmd.create('/memories/d/b', 'b'),
      cmd.create('/memories/d/c', 'c'),
    );
    const then = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.replace('/memories/d/a', '1', '2'), cmd.delete('/memories/d/b'));
    await run(
      service(),
      tenant,
      cmd.rename('/memories/d/c', '/memories/e/c'),
      cmd.create('/memories/d/new', 'n'),
    );
    const now = await readSnapshot(service(), tenant);
    const args = ['restore', tenant, '--at', then.at];
    const printed = 'M /memories/d/a\nA /memories/d/b\nR /memories/e/c -> /memories/d/c\nD /memories/d/new\n';
    const counted = '1 file added, 1 file modified, 1 file deleted, 1 file renamed, 1 directory removed.\n';
    const dry = await runCli(service(), [...args, '--dry-run']);
    expect([dry.stdout.toString(), dry.stderr]).toStrictEqual([
      printed,
      `Would restore ${tenant}: ${counted}`,
    ]);
    expect(await readSnapshot(service(), tenant)).toEqual(now);
    const json = JSON.parse((await runCli(service(), [...args, '--dry-run', '--json'])).stdout.toString());
    expect(json).toMatchObject({
      tenant,
      dry_run: true,
      directories_made: [],
      directories_removed: ['/memories/e'],
    });
    const plan = String(json.plan);
    expect(json.files[2]).toStrictEqual({
      old_version: expect.any(String),
      version: then.ids.get('/memories/d/c'),
      change: 'renamed',
      memory_id: then.ids.get('/memories/d/c'),
      from: '/memories/e/c',
      path: '/memories/d/c',
      content_changed: false,
      merged: false,
    });
    const other = await runCli(service(), [...args, '--plan', plan.replace(/^./, 'x')]);
    expect(other.stderr).toContain('it is the plan that --dry-run --json shows');
    await run(service(), tenant, cmd.replace('/memories/d/a', '2', '3'));
    const stale = await runCli(service(), [...args, '--plan', plan]);
    expect(stale.error).toBe(
      'The memory has changed since the dry run, so the changes would differ. Nothing was changed. Do another dry run.',
    );
    const planned = await runCli(service(), [...args, '--dry-run', '--json']);
    const done = await runCli(service(), [...args, '--plan', JSON.parse(planned.stdout.toString()).plan]);
    expect([done.stdout.toString(), done.stderr]).toStrictEqual([printed, `Restored ${tenant}: ${counted}`]);
    expect(await readTree(service(), tenant)).toEqual(then.tree);

    const [version] = await readVersions(service(), tenant);
    const same = await runCli(service(), ['restore', tenant, '--version', version?.id ?? '']);
    expect(same.error ?? same.stderr).toMatch(/nothing to change|records a deletion/);
    const neither = await runCli(service(), ['restore', tenant]);
    expect(neither.error).toBe('error: requires --at <time> or --version <id>');
    const both = await runCli(service(), ['restore', tenant, '--at', '2h', '--version', '0b9ee7d4']);
    expect(both.error).toContain("cannot be used with option '--version <id>'");
    await expect(
      restoreAt(service().database, tenant, { path: ROOT, at: then.at }, { ...OPERATOR, dryRun: true }),
    ).resolves.toMatchObject({ files: [] });

    // The preview must show that the content changes as well as the path.
    await run(
      service(),
      tenant,
      cmd.replace('/memories/d/a', '1', '2'),
      cmd.rename('/memories/d/a', '/memories/z'),
    );
    const moved = await runCli(service(), [...args, '--dry-run']);
    expect([moved.stdout.toString(), moved.stderr]).toStrictEqual([
      'RM /memories/z -> /memories/d/a\n',
      `Would restore ${tenant}: 1 file renamed and modified.\n`,
    ]);
  });
});
