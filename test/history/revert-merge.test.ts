/**
 * A revert that merges: keeps others' changes in other lines, and resolves conflicts.
 *
 * @module-tag long-on-pglite
 */

import { afterAll, describe, expect, it } from 'vitest';
import type { Conflict, RevertResolution } from '../../src/core/history/conflicts.ts';
import { conflictText } from '../../src/core/history/conflicts.ts';
import { Folds } from '../../src/core/history/folds.ts';
import { MergeThreads } from '../../src/core/history/line-merge.ts';
import type { ThreeTexts } from '../../src/core/history/merge-lines.ts';
import { restoreVersion } from '../../src/core/history/restore.ts';
import { type RevertOptions, type RevertSelection, revertActor } from '../../src/core/history/revert.ts';
import { readRevertedFile } from '../../src/core/history/revert-difference.ts';
import { findTouched, readTouched } from '../../src/core/history/touched.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { createSecretScanner } from '../../src/features/secrets/scanner.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { lines, OPERATOR, readSnapshot } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const a = '/memories/a';
const b = '/memories/b';
const TEXT = '1\n2\n3\n4\n5\n';

/** Creates a tenant with two keys whose labels are the actors, and a file by alice. */
async function tenantWithFile(service: Service, text = TEXT) {
  const tenant = freshTenant('revert-merge');
  await new Tenants(service.database).create(tenant);
  const createAgentKey = async (label: string, source: string | null) => {
    const { key, hash, id } = newApiKey();
    const stored = { hash, id, tenant, access: 'read_write', label, expiresAt: null } as const;
    await new Keys(service.database).create({ ...stored, ...(source === null ? {} : { source }) });
    const headers = { authorization: `Bearer ${key}` };
    return async (...steps: object[]) => {
      for (const step of steps) {
        expect((await service.execute(step, { headers })).body).toMatchObject({ is_error: false });
      }
    };
  };
  const actors = {
    mallory: await createAgentKey('mallory', 'web'),
    alice: await createAgentKey('alice', null),
  };
  await actors.alice(cmd.create(a, text));
  const before = await readSnapshot(service, tenant);
  const filesNow = async () => {
    const tree = await readTree(service, tenant);
    return Object.fromEntries([...tree].filter(([, content]) => content !== null));
  };
  /** Reverts mallory's changes, and returns the lines that the command would print. */
  const revert = async (
    byPath: Record<string, RevertResolution> = {},
    options: Partial<RevertOptions> = {},
    selection: Partial<RevertSelection> = {},
  ) => {
    const ids = (await readSnapshot(service, tenant)).ids;
    const resolutions = new Map(
      Object.entries(byPath).map(([path, each]) => [ids.get(path) ?? before.ids.get(path) ?? path, each]),
    );
    const given = { by: 'mallory', since: microsecondAfter(before.at), ...selection };
    return revertActor(service.database, tenant, given, { ...OPERATOR, resolutions, ...options });
  };
  return { tenant, before, filesNow, revert, ...actors };
}

function microsecondAfter(at: string): string {
  const micros = Number(at.slice(20, 26)) + 1;
  return `${at.slice(0, 20)}${String(micros).padStart(6, '0')}Z`;
}

/** Formats a conflict without its time. */
const maskedConflictText = (conflict: Conflict) => conflictText(conflict).replace(/ \S+Z/, ' <time>');

describeService(
  'a revert that merges',
  (service) => {
    it("removes the actor's lines and keeps other actors' lines", async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      await alice(cmd.replace(a, '5\n', '55\n'));
      const done = await revert();
      expect([lines(done), done.conflicts]).toStrictEqual([[`M ${a}`], []]);
      expect(done.files).toMatchObject([{ version: null, mergedSha256: expect.any(String) }]);
      expect(await filesNow()).toStrictEqual({ [a]: '1\n2\n3\n4\n55\n' });
      // A repeated revert finds no changes to undo.
      expect(await revert()).toMatchObject({ files: [], conflicts: [], changedAt: null });
      await assertInvariants(service());
    });

    it("keeps other actors' changes that alternate with the reverted actor's changes", async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service(), '1\n2\n3\n4\n5\n6\n7\n');
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      await alice(cmd.replace(a, '3\n', '33\n'));
      await mallory(cmd.replace(a, '5\n', 'worse\n'), cmd.rename(a, b));
      await alice(cmd.replace(b, '7\n', '77\n'));
      await mallory(cmd.insert(b, 0, 'worst\n'));
      const done = await revert();
      expect([lines(done), done.conflicts]).toStrictEqual([[`RM ${b} -> ${a}`], []]);
      expect(await filesNow()).toStrictEqual({ [a]: '1\n2\n33\n4\n5\n6\n77\n' });
      await assertInvariants(service());
    });

    it("reverts only the actor's part if one actor moved a file and another edited it", async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await alice(cmd.create(b, TEXT));
      await mallory(cmd.rename(a, '/memories/moved'), cmd.replace(b, '1\n', 'evil\n'));
      await alice(cmd.replace('/memories/moved', '5\n', '55\n'), cmd.rename(b, '/memories/kept'));
      expect(lines(await revert())).toStrictEqual(['R /memories/moved -> /memories/a', 'M /memories/kept']);
      expect(await filesNow()).toStrictEqual({ [a]: '1\n2\n3\n4\n55\n', '/memories/kept': TEXT });
    });

    it('reports a conflict for lines that both actors changed, and merges all other lines', async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'), cmd.replace(a, '3\n', 'worse\n'));
      await alice(cmd.replace(a, 'evil\n', 'evil, they say\n'), cmd.replace(a, '5\n', '55\n'));
      const edited = 'evil, they say\n2\nworse\n4\n55\n';
      const message = '/memories/a: key alice changed the same lines at <time>.';
      const left = await revert();
      expect([left.files, left.conflicts.map(maskedConflictText)]).toStrictEqual([
        [],
        [`${message} Left unchanged.`],
      ]);
      expect(await filesNow()).toStrictEqual({ [a]: edited });
      const current = await revert({ [a]: 'current' });
      expect([current.files, current.conflicts.map(maskedConflictText)]).toStrictEqual([
        [],
        [`${message} Resolved with the current state.`],
      ]);
      const reverted = await revert({ [a]: 'reverted' }, { dryRun: true });
      expect([lines(reverted), reverted.conflicts.map(maskedConflictText)]).toStrictEqual([
        [`M ${a}`],
        [`${message} Resolved with the reverted state.`],
      ]);
      expect(await filesNow()).toStrictEqual({ [a]: edited });
      const text = await revert({ [a]: { text: 'mine' } }, { dryRun: true });
      expect([lines(text), text.conflicts.map(maskedConflictText)]).toStrictEqual([
        [`M ${a}`],
        [`${message} Resolved with a text.`],
      ]);
      expect(text.plan).not.toBe(reverted.plan);
      await revert({ [a]: 'reverted' }, { expectedPlan: reverted.plan });
      expect(await filesNow()).toStrictEqual({ [a]: '1\n2\n3\n4\n55\n' });
      await revert({ [a]: { text: 'mine' } });
      expect(await filesNow()).toStrictEqual({ [a]: 'mine' });
      await assertInvariants(service());
    });

    it('reports a conflict if another actor changed a file that the actor created', async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.create('/memories/d/new', TEXT));
      await alice(cmd.replace('/memories/d/new', '5\n', '55\n'));
      const left = await revert();
      expect([lines(left), left.conflicts.map(maskedConflictText)]).toStrictEqual([
        [],
        ['/memories/d/new: the revert would delete it, but key alice changed it at <time>. Left unchanged.'],
      ]);
      const deleted = await revert({ '/memories/d/new': 'reverted' });
      expect(lines(deleted)).toStrictEqual(['D /memories/d/new', '- /memories/d']);
      expect(await filesNow()).toStrictEqual({ [a]: TEXT });
      await assertInvariants(service());
    });

    it('reports a conflict if another actor deleted a file that the actor changed', async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      await alice(cmd.delete(a));
      const left = await revert();
      expect([lines(left), left.conflicts.map(maskedConflictText)]).toStrictEqual([
        [],
        ['/memories/a: key alice deleted it at <time>. Left unchanged.'],
      ]);
      expect(lines(await revert({ [a]: { text: 'new' } }, { dryRun: true }))).toStrictEqual([`A ${a}`]);
      expect(lines(await revert({ [a]: 'reverted' }))).toStrictEqual([`A ${a}`]);
      expect(await filesNow()).toStrictEqual({ [a]: TEXT });
    });

    it('keeps later changes to a file that the actor deleted and an operator restored', async () => {
      const { tenant, before, mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.delete(a));
      const [row] = await service().query(
        `SELECT id FROM versions WHERE tenant_id = $1::text AND memory_id = $2::text::uuid AND operation = 'created'`,
        [tenant, before.ids.get(a)],
      );
      await restoreVersion(service().database, tenant, { version: String(row?.id) }, OPERATOR);
      await alice(cmd.replace(a, '5\n', '55\n'));
      expect(await revert()).toMatchObject({ files: [], conflicts: [] });
      expect(await filesNow()).toStrictEqual({ [a]: '1\n2\n3\n4\n55\n' });
    });

    it('reports a conflict if another actor moved a file that the actor had moved', async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.rename(a, '/memories/m'));
      await alice(cmd.rename('/memories/m', '/memories/mine'), cmd.replace('/memories/mine', '5\n', '55\n'));
      const left = await revert();
      expect([lines(left), left.conflicts.map(maskedConflictText)]).toStrictEqual([
        [],
        ['/memories/mine: key alice moved it as well, at <time>. Left unchanged.'],
      ]);
      expect(lines(await revert({ '/memories/mine': 'reverted' }))).toStrictEqual([
        `R /memories/mine -> ${a}`,
      ]);
      expect(await filesNow()).toStrictEqual({ [a]: '1\n2\n3\n4\n55\n' });
    });

    it("writes the given text to the file's current path if its earlier path is occupied", async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.rename(a, b), cmd.replace(b, '1\n', 'evil\n'));
      await alice(cmd.create(a, 'new'));
      const left = await revert();
      expect([lines(left), left.conflicts.map(maskedConflictText)]).toStrictEqual([
        [],
        ['/memories/b: /memories/a is occupied. Left unchanged.'],
      ]);
      expect(left.conflicts[0]?.choices).toStrictEqual(['current', 'text']);
      const done = await revert({ [b]: { text: TEXT } });
      expect([lines(done), done.conflicts.map(maskedConflictText)]).toStrictEqual([
        [`M ${b}`],
        ['/memories/b: Resolved with a text.'],
      ]);
      expect(await filesNow()).toStrictEqual({ [a]: 'new', [b]: TEXT });
    });

    it('keeps a text that resolved a conflict when the revert runs again', async () => {
      const { mallory, alice, before, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      await alice(cmd.replace(a, 'evil\n', 'evil 2\n'));
      expect((await revert()).conflicts.map(({ reason }) => reason)).toStrictEqual(['content']);
      await revert({ [a]: { text: 'ours\n2\n3\n4\n5\n' } });
      await alice(cmd.replace(a, '5\n', '55\n'));
      for (const options of [{ dryRun: true }, {}]) {
        const again = await revert({}, options);
        expect([lines(again), again.conflicts]).toStrictEqual([[], []]);
      }
      // The text resolves neither later changes nor a revert that selects earlier changes.
      const wider = await revert({}, { dryRun: true }, { since: before.at });
      expect(wider.conflicts.map(({ reason }) => reason)).toStrictEqual(['content']);
      await mallory(cmd.replace(a, '3\n', 'evil 3\n'));
      expect(lines(await revert())).toStrictEqual([`M ${a}`]);
      expect(await filesNow()).toStrictEqual({ [a]: 'ours\n2\n3\n4\n55\n' });
    });

    it('leaves a file unchanged on request even if it has no conflict, and lists it as resolved', async () => {
      const { mallory, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'), cmd.create(b, 'evil'));
      const done = await revert({ [a]: 'current' });
      expect([lines(done), done.conflicts.map(maskedConflictText)]).toStrictEqual([
        [`D ${b}`],
        ['/memories/a: Resolved with the current state.'],
      ]);
      expect(await filesNow()).toStrictEqual({ [a]: 'evil\n2\n3\n4\n5\n' });
    });

    it('reverts all changes from a source, or all changes in a period', async () => {
      const { tenant, mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      await alice(cmd.replace(a, '3\n', '33\n'));
      const { at: until } = await readSnapshot(service(), tenant);
      await alice(cmd.replace(a, '5\n', '55\n'));
      const dryRun = { dryRun: true };
      expect(lines(await revert({}, dryRun, { by: 'source:web' }))).toStrictEqual([`M ${a}`]);
      expect(await revert({}, dryRun, { by: 'source:import' })).toMatchObject({ files: [], conflicts: [] });
      await revert({}, {}, { by: undefined, until });
      expect(await filesNow()).toStrictEqual({ [a]: '1\n2\n3\n4\n55\n' });
    });

    it('rejects a revert if the memory has changed since the dry run', async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      await alice(cmd.replace(a, '5\n', '55\n'));
      const { plan } = await revert({}, { dryRun: true });
      await alice(cmd.replace(a, '55\n', '555\n'));
      await expect(revert({}, { expectedPlan: plan })).rejects.toThrow(
        'The memory has changed since the dry run',
      );
      expect(await filesNow()).toStrictEqual({ [a]: 'evil\n2\n3\n4\n555\n' });
    });

    it('reports a conflict after a redaction, and offers the reverted state only if it is known', async () => {
      const { tenant, before, mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      const [row] = await service().query(
        'SELECT version FROM entries WHERE tenant_id = $1::text AND path = $2::text',
        [tenant, a],
      );
      await alice(cmd.replace(a, '5\n', '55\n'));
      await service().query(`SELECT memory_redact($1::text, $2::text::uuid, '{"type":"anonymous"}')`, [
        tenant,
        row?.version,
      ]);
      const left = await revert();
      expect([lines(left), left.conflicts.map(maskedConflictText)]).toStrictEqual([
        [],
        ['/memories/a: a version that the revert needs was redacted. Left unchanged.'],
      ]);
      expect(lines(await revert({ [a]: 'reverted' }, { dryRun: true }))).toStrictEqual([`M ${a}`]);
      await service().query(`SELECT memory_redact($1::text, $2::text::uuid, '{"type":"anonymous"}')`, [
        tenant,
        before.ids.get(a),
      ]);
      const unknown = await revert({ [a]: 'reverted' });
      expect([lines(unknown), unknown.conflicts.map(({ choices }) => choices)]).toStrictEqual([
        [],
        [['current', 'text']],
      ]);
      expect(await filesNow()).toStrictEqual({ [a]: 'evil\n2\n3\n4\n55\n' });
    });

    it('rejects a resolution for an unaffected file, or with a text that a write would reject', async () => {
      const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
      await alice(cmd.create(b, 'mine'));
      await mallory(
        cmd.replace(a, '1\n', 'evil\n'),
        cmd.create('/memories/gone', 'x'),
        cmd.delete('/memories/gone'),
      );
      const scanner = createSecretScanner();
      const settings = { redaction: { mode: 'reject', scanner }, maxFileBytes: 40 } as const;
      const masking = { redaction: { mode: 'mask', scanner }, maxFileBytes: 40 } as const;
      const secret = 'AKIAQ3EGRRZ5NT4WXV2B';
      await expect(revert({ [b]: 'current' })).rejects.toThrow('The revert does not affect the file');
      await expect(revert({ [a]: { text: 'x\0' } })).rejects.toThrow('contains a NUL character');
      await expect(revert({ [a]: { text: 'x'.repeat(41) } }, { settings })).rejects.toThrow(
        '/memories/a would exceed the maximum file size of 40 bytes.',
      );
      await expect(revert({ [a]: { text: secret } }, { settings })).rejects.toThrow('aws_access_key');
      expect((await filesNow())[a]).toBe('evil\n2\n3\n4\n5\n');
      await revert({ [a]: { text: `key ${secret}\n` } }, { settings: masking });
      expect((await filesNow())[a]).toMatch(/^key \[[^\]]*\]\n$/);
    });

    it("returns a file's state before and after the revert", async () => {
      const { tenant, before, mallory, alice } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      await alice(cmd.replace(a, '5\n', '55\n'));
      const memoryId = String(before.ids.get(a));
      const given = { tenant, memoryId, by: 'mallory', since: before.at };
      expect(await readRevertedFile(service().database, OPERATOR.threads, given)).toMatchObject({
        current: { kind: 'file', path: a, content: 'evil\n2\n3\n4\n55\n' },
        reverted: { kind: 'file', path: a, content: '1\n2\n3\n4\n55\n' },
        revertedVersion: null,
      });
      const other = { ...given, by: 'nobody' };
      await expect(readRevertedFile(service().database, OPERATOR.threads, other)).rejects.toThrow(
        'The revert does not affect the file',
      );
    });

    it("merges a file's text again if the text is not kept in memory", async () => {
      const { tenant, before, mallory, alice } = await tenantWithFile(service());
      await mallory(cmd.replace(a, '1\n', 'evil\n'));
      await alice(cmd.replace(a, '5\n', '55\n'));
      const changes = { tenant, by: 'mallory', since: before.at, until: 'infinity' };
      const { query } = service().database;
      const touched = await findTouched(query, changes, () => {});
      const folds = new Folds(OPERATOR.threads, changes, 0);
      const texts: (string | null)[] = [];
      await folds.prepare(query, touched);
      for await (const [file, { state }] of folds.read(query, readTouched(query, tenant, touched))) {
        if (!state) throw new Error('The file has no state.');
        texts.push(state.text, await folds.readText(query, file.memoryId, state));
      }
      expect(texts).toStrictEqual([null, '1\n2\n3\n4\n55\n']);
    });

    describe('a revert during changes to the memory', () => {
      /** Runs a step before the first merge, which happens before the revert locks the memory. */
      class Interrupted extends MergeThreads {
        step: (() => Promise<unknown>) | null = null;

        override async merge(texts: ThreeTexts) {
          const { step } = this;
          this.step = null;
          await step?.();
          return super.merge(texts);
        }
      }
      const threads = new Interrupted();
      afterAll(() => threads.close());

      it('keeps a change that another actor makes during the merge', async () => {
        const { mallory, alice, revert, filesNow } = await tenantWithFile(service());
        await mallory(cmd.replace(a, '1\n', 'evil\n'));
        await alice(cmd.replace(a, '5\n', '55\n'));
        threads.step = () => alice(cmd.replace(a, '3\n', '33\n'));
        expect(lines(await revert({}, { threads }))).toStrictEqual([`M ${a}`]);
        expect(threads.step).toBeNull();
        expect(await filesNow()).toStrictEqual({ [a]: '1\n2\n33\n4\n55\n' });
      });

      it('reports a conflict if a needed version is redacted during the merge', async () => {
        const { tenant, before, mallory, alice, revert, filesNow } = await tenantWithFile(service());
        await mallory(cmd.replace(a, '1\n', 'evil\n'));
        await alice(cmd.replace(a, '5\n', '55\n'));
        threads.step = () =>
          service().query(`SELECT memory_redact($1::text, $2::text::uuid, '{"type":"anonymous"}')`, [
            tenant,
            before.ids.get(a),
          ]);
        expect(await revert({}, { threads })).toMatchObject({
          files: [],
          conflicts: [{ path: a, reason: 'redacted' }],
        });
        expect(threads.step).toBeNull();
        expect(await filesNow()).toStrictEqual({ [a]: 'evil\n2\n3\n4\n55\n' });
      });
    });
  },
  { AUTH: 'keys' },
);
