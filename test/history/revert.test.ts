/**
 * `revert`: undoes only one actor's changes.
 *
 * @module-tag long-on-pglite
 */
import { describe, expect, it } from 'vitest';
import { restoreVersion } from '../../src/core/history/restore.ts';
import { revertActor } from '../../src/core/history/revert.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { lines, OPERATOR, readSnapshot } from '../support/restore-run.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const a = '/memories/a';
const b = '/memories/b';

/** Creates a tenant with two keys whose labels are the actors. */
async function tenantWithKeys(service: Service) {
  const tenant = freshTenant('revert');
  await new Tenants(service.database).create(tenant);
  const createAgentKey = async (label: string) => {
    const { key, hash, id } = newApiKey();
    const stored = { hash, id, tenant, access: 'read_write', label, expiresAt: null } as const;
    await new Keys(service.database).create(stored);
    const headers = { authorization: `Bearer ${key}` };
    return async (...steps: object[]) => {
      for (const step of steps) {
        expect((await service.execute(step, { headers })).body).toMatchObject({ is_error: false });
      }
    };
  };
  return { tenant, mallory: await createAgentKey('mallory'), alice: await createAgentKey('alice') };
}

async function undo(service: Service, tenant: string, since: string, by = 'mallory') {
  const reverted = await revertActor(service.database, tenant, { by, since }, OPERATOR);
  const conflicts = reverted.conflicts.map(
    (each) => `${each.reason} ${each.path}${each.reason === 'occupied' ? ` by ${each.at}` : ''}`,
  );
  return [...lines(reverted), ...conflicts];
}

describeService(
  'a revert',
  (service) => {
    it('undoes every change by the actor, and no changes by other actors', async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await mallory(cmd.create('/memories/earlier', 'e'));
      await alice(cmd.create('/memories/d/f', '1'), cmd.create('/memories/d/e/g', '2'), cmd.create(a, 'a'));
      const before = await readSnapshot(service(), tenant);
      await mallory(cmd.create('/memories/evil name/x', 'poison'), cmd.replace('/memories/d/f', '1', 'evil'));
      await alice(cmd.create('/memories/mine', 'mine'));
      await mallory(
        cmd.rename('/memories/d', '/memories/moved'),
        cmd.insert('/memories/moved/f', 0, 'more\n'),
      );
      await mallory(
        cmd.delete(a),
        cmd.create(a, 'another'),
        cmd.delete('/memories/moved/e'),
        cmd.delete('/memories/evil name/x'),
      );
      expect(await undo(service(), tenant, before.at)).toStrictEqual([
        `A ${a}`,
        `D ${a}`,
        'A /memories/d/e/g',
        'RM /memories/moved/f -> /memories/d/f',
        '+ /memories/d',
        '+ /memories/d/e',
        '- /memories/evil name',
        '- /memories/moved',
      ]);
      const now = await readSnapshot(service(), tenant);
      expect(now.tree).toEqual(new Map(before.tree).set('/memories/mine', 'mine'));
      expect([...now.ids]).toEqual(expect.arrayContaining([...before.ids]));
      // A repeated revert finds no changes to undo.
      expect(await undo(service(), tenant, before.at)).toStrictEqual([]);
      await assertInvariants(service());
    });

    it('keeps the root directory even if the actor created all files', async () => {
      const { tenant, mallory } = await tenantWithKeys(service());
      await mallory(cmd.create('/memories/d/a', 'a'));
      expect(await undo(service(), tenant, '2020-01-01T00:00:00Z')).toStrictEqual([
        'D /memories/d/a',
        '- /memories/d',
      ]);
      await assertInvariants(service());
    });

    it("reverts only an actor's changes between two times", async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await alice(cmd.create('/memories/d/f', '1'), cmd.create(a, '1'));
      const before = await readSnapshot(service(), tenant);
      await mallory(cmd.rename('/memories/d', '/memories/moved'), cmd.create('/memories/new/f', 'x'));
      await mallory(cmd.replace(a, '1', '2'), cmd.create(b, 'b'));
      const { at } = await readSnapshot(service(), tenant);
      await mallory(cmd.create('/memories/later/f', 'x'), cmd.replace(a, '2', '3'), cmd.delete(b));
      const done = await revertActor(
        service().database,
        tenant,
        { by: 'mallory', since: before.at, until: at },
        OPERATOR,
      );
      expect(lines(done)).toStrictEqual([
        'R /memories/moved/f -> /memories/d/f',
        'D /memories/new/f',
        '+ /memories/d',
        '- /memories/moved',
        '- /memories/new',
      ]);
      expect(done.conflicts).toMatchObject([{ reason: 'content', path: a, changedBy: { label: 'mallory' } }]);
      const later = [['/memories/later', null] as const, ['/memories/later/f', 'x'] as const];
      expect((await readSnapshot(service(), tenant)).tree).toEqual(
        new Map([...before.tree, ...later, [a, '3']]),
      );
      await assertInvariants(service());
    });

    it('skips and reports a file if another actor has changed the same lines since', async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await alice(
        cmd.create(a, '1\n'),
        cmd.create(b, '1\n'),
        cmd.create('/memories/c', '1\n'),
        cmd.create('/memories/d', '1\n'),
      );
      const before = await readSnapshot(service(), tenant);
      await mallory(
        cmd.insert(a, 0, 'evil\n'),
        cmd.insert(b, 0, 'evil\n'),
        cmd.insert('/memories/c', 0, 'evil\n'),
      );
      await alice(
        cmd.insert(a, 0, 'good\n'),
        cmd.insert(b, 0, 'good\n'),
        cmd.replace('/memories/c', 'evil\n', ''),
      );
      await mallory(cmd.insert(b, 0, 'worse\n'), cmd.delete('/memories/d'));
      const { conflicts } = await revertActor(
        service().database,
        tenant,
        { by: 'mallory', since: before.at },
        { ...OPERATOR, dryRun: true },
      );
      expect(conflicts).toMatchObject([
        {
          path: a,
          reason: 'content',
          resolution: null,
          choices: ['reverted', 'current', 'text'],
          changedBy: { type: 'api_key', label: 'alice' },
          memoryId: before.ids.get(a),
        },
        // The file c has its content from before mallory's change.
        { path: b, reason: 'content', changedBy: { type: 'api_key', label: 'alice' } },
      ]);
      expect(await undo(service(), tenant, before.at)).toStrictEqual([
        'A /memories/d',
        `content ${a}`,
        `content ${b}`,
      ]);
      const tree = await readTree(service(), tenant);
      expect([tree.get(a), tree.get(b), tree.get('/memories/d')]).toStrictEqual([
        'good\nevil\n1\n',
        'worse\ngood\nevil\n1\n',
        '1\n',
      ]);
      await assertInvariants(service());
    });

    it('skips a file if its earlier path or a parent directory is occupied', async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await alice(
        cmd.create('/memories/d/f', '1'),
        cmd.create(a, 'a'),
        cmd.create(b, 'b'),
        cmd.create('/memories/k/f', 'k'),
      );
      await alice(cmd.create('/memories/c', 'c'));
      const before = await readSnapshot(service(), tenant);
      const t = '/memories/t';
      // Two files swap their paths, a third is moved to another file's former path, and a file replaces a directory.
      await mallory(
        cmd.rename(a, t),
        cmd.rename(b, a),
        cmd.rename(t, b),
        cmd.delete('/memories/c'),
        cmd.delete('/memories/k'),
      );
      await mallory(cmd.rename('/memories/d/f', '/memories/f'), cmd.delete('/memories/d'));
      await alice(
        cmd.insert(a, 0, 'x\n'),
        cmd.create('/memories/c', 'new'),
        cmd.create('/memories/k', 'a file'),
      );
      expect(await undo(service(), tenant, before.at)).toStrictEqual([
        'R /memories/b -> /memories/a',
        'R /memories/a -> /memories/b',
        'R /memories/f -> /memories/d/f',
        '+ /memories/d',
        'occupied /memories/c by /memories/c',
        'occupied /memories/k by /memories/k',
        'occupied /memories/k/f by /memories/k',
      ]);
      expect((await readTree(service(), tenant)).get(b)).toBe('x\nb');
      await assertInvariants(service());
    });

    it('restores only the last file if the actor deleted several files at the same path', async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await alice(cmd.create('/memories/p', 'file'), cmd.create('/memories/q', 'first'));
      const before = await readSnapshot(service(), tenant);
      await mallory(cmd.delete('/memories/p'), cmd.delete('/memories/q'));
      await alice(cmd.create('/memories/p/q', 'below'), cmd.create('/memories/q', 'second'));
      await mallory(cmd.delete('/memories/p'), cmd.delete('/memories/q'));
      expect(await undo(service(), tenant, before.at)).toStrictEqual([
        'A /memories/p/q',
        'A /memories/q',
        '+ /memories/p',
        'occupied /memories/p by /memories/p',
        'occupied /memories/q by /memories/q',
      ]);
      expect((await readTree(service(), tenant)).get('/memories/q')).toBe('second');
      await assertInvariants(service());
    });

    it('keeps or recreates directories that files need after the revert', async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await alice(cmd.create('/memories/kept/f', '1'), cmd.create('/memories/gone/f', '1'));
      const before = await readSnapshot(service(), tenant);
      await mallory(cmd.create('/memories/used/x', 'x'), cmd.create('/memories/empty/sub/x', 'x'));
      await mallory(cmd.delete('/memories/kept'), cmd.create('/memories/kept/x', 'x'));
      await mallory(cmd.delete('/memories/gone'));
      await alice(
        cmd.create('/memories/used/mine', 'mine'),
        cmd.create('/memories/gone/g', 'g'),
        cmd.delete('/memories/gone'),
      );
      expect(await undo(service(), tenant, before.at)).toStrictEqual([
        'D /memories/empty/sub/x',
        'A /memories/gone/f',
        'A /memories/kept/f',
        'D /memories/kept/x',
        'D /memories/used/x',
        '+ /memories/gone',
        '- /memories/empty',
        '- /memories/empty/sub',
      ]);
      expect(await readTree(service(), tenant)).toEqual(
        new Map(before.tree).set('/memories/used', null).set('/memories/used/mine', 'mine'),
      );
      await assertInvariants(service());
    });

    it('keeps the empty root directory, and does not record it as a past directory', async () => {
      const { tenant, mallory } = await tenantWithKeys(service());
      await mallory(cmd.create('/memories/d/f', 'x'));
      expect(await undo(service(), tenant, '1970-01-01T00:00:00.000000Z')).toStrictEqual([
        'D /memories/d/f',
        '- /memories/d',
      ]);
      expect([...(await readTree(service(), tenant)).keys()]).toStrictEqual(['/memories']);
      expect(
        await service().query('SELECT path FROM past_directories WHERE tenant_id = $1', [tenant]),
      ).toStrictEqual([{ path: '/memories/d' }]);
    });

    it('undoes a change to a file that an operator had restored', async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await alice(cmd.create(a, '1'));
      const before = await readSnapshot(service(), tenant);
      await alice(cmd.delete(a));
      const version = (
        await service().query('SELECT id FROM versions WHERE tenant_id = $1::text AND operation = $2::text', [
          tenant,
          'created',
        ])
      )[0]?.id;
      await restoreVersion(
        service().database,
        tenant,
        { version: String(version) },
        { ...OPERATOR, origin: { actor: { type: 'operator', name: 'eve' } } },
      );
      await mallory(cmd.replace(a, '1', 'evil'));
      // The operator created the file again, and mallory changed it. Before both changes, no file existed.
      expect(await undo(service(), tenant, before.at, 'eve')).toStrictEqual([`deleted_in_reverted ${a}`]);
      expect(await undo(service(), tenant, before.at)).toStrictEqual([`M ${a}`]);
      await assertInvariants(service());
    });

    it('reports files whose previous version was redacted or pruned', async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await alice(cmd.create(a, 'secret'), cmd.create(b, '1'), cmd.create('/memories/c', '1'));
      const before = await readSnapshot(service(), tenant);
      await mallory(
        cmd.replace(a, 'secret', 'x'),
        cmd.replace(b, '1', '2'),
        cmd.replace('/memories/c', '1', '2'),
      );
      await service().query(`SELECT memory_redact($1::text, $2::text::uuid, '{"type":"anonymous"}')`, [
        tenant,
        before.ids.get(a),
      ]);
      await service().query(
        `WITH pruned AS (DELETE FROM versions WHERE tenant_id = $1::text AND id = $2::text::uuid RETURNING bytes)
         UPDATE tenants SET history_versions = history_versions - 1, history_bytes = history_bytes - pruned.bytes
         FROM pruned WHERE tenants.id = $1`,
        [tenant, before.ids.get(b)],
      );
      expect(await undo(service(), tenant, before.at)).toStrictEqual([
        'M /memories/c',
        `redacted ${a}`,
        `pruned ${b}`,
      ]);
      await assertInvariants(service());
      await service().query('UPDATE tenants SET history_since = now() WHERE id = $1', [tenant]);
      await expect(undo(service(), tenant, before.at)).rejects.toMatchObject({ code: 'history_incomplete' });
    });

    it('reverts no file if the memory would exceed the quota', async () => {
      const { tenant, mallory, alice } = await tenantWithKeys(service());
      await alice(cmd.create(a, 'x'.repeat(50)));
      await mallory(cmd.delete(a));
      await new Tenants(service().database).set(tenant, { maxBytes: 40 });
      await expect(undo(service(), tenant, '2020-01-01T00:00:00Z')).rejects.toThrow(
        'and the revert needs 50',
      );
    });

    describe('a revert on the command line', () => {
      it('lists conflicts and exits with 3, in a dry run as well as in a revert', async () => {
        const { tenant, mallory, alice } = await tenantWithKeys(service());
        await alice(cmd.create(a, '1\n'), cmd.create(b, '1\n'));
        await mallory(
          cmd.insert(a, 0, 'evil\n'),
          cmd.insert(b, 0, 'evil\n'),
          cmd.create('/memories/c', 'evil'),
        );
        await alice(cmd.insert(a, 0, 'good\n'));
        const now = await readSnapshot(service(), tenant);
        const args = ['revert', tenant, '--by', 'mallory', '--since', '1h'];
        for (const dry of [['--dry-run'], []]) {
          const { error, exitCode, stdout, stderr } = await runCli(service(), [...args, ...dry]);
          expect([exitCode, stdout.toString()]).toStrictEqual([3, 'M /memories/b\nD /memories/c\n']);
          expect(stderr).toMatch(
            /^NOT reverted: 1 conflict\.\n {2}\/memories\/a: key alice changed the same lines at \S+Z\. Left unchanged\.\n(Would revert|Reverted) what mallory did in \S+ since \S+Z: 1 file modified, 1 file deleted\.\n$/,
          );
          expect(error).toBe(
            '1 conflict; not fully reverted. Resolve a file with --take PATH=reverted, --take PATH=current, or --text PATH=FILE, or all of them with --take-all.',
          );
          if (dry.length > 0) expect(await readSnapshot(service(), tenant)).toEqual(now);
        }
        const json = await runCli(service(), [...args, '--json']);
        expect(json.exitCode).toBe(3);
        expect(JSON.parse(json.stdout.toString())).toMatchObject({
          tenant,
          dry_run: false,
          files: [],
          conflicts: [{ path: a, reason: 'content', resolution: null, changed_by: { label: 'alice' } }],
        });
        const until = await runCli(service(), [...args, '--until', '2020-01-01', '--json']);
        expect([until.exitCode, JSON.parse(until.stdout.toString()).files]).toStrictEqual([0, []]);
        const nobody = await runCli(service(), ['revert', tenant, '--by', 'nobody', '--since', '1h']);
        expect([nobody.exitCode, nobody.stdout.toString(), nobody.error]).toStrictEqual([
          1,
          '',
          `"nobody" has made no changes in ${tenant}. See who has: memory-service log ${tenant}`,
        ]);
        const idle = await runCli(service(), ['revert', tenant, '--by', 'mallory', '--since', '2999-01-01']);
        expect([idle.exitCode, idle.stdout.toString()]).toStrictEqual([0, '']);
        expect(idle.stderr).toContain('nothing to change');
      });
    });
  },
  { AUTH: 'keys' },
);
