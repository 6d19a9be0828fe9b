/**
 * Reverts of an actor in many tenants: dry run, application, conflicts, and resumption.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import type { JobKind } from '../../src/features/incidents/job-kind.ts';
import type { RunningJob } from '../../src/features/incidents/jobs.ts';
import { revertJobs } from '../../src/features/incidents/revert-job.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { Drafting } from '../support/drafting.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

const a = '/memories/a';
const CLEAN = '1\n2\n3\n4\n5\n';

describeServiceOnOwnDatabase(
  'a revert in many tenants',
  (service) => {
    const admin = useAdmin(service);
    const drafting = new Drafting(service, { AUTH: 'keys' });
    const keys = new Map<string, string>();
    let kind: JobKind;

    beforeAll(async () => {
      kind = revertJobs(service().database, loadConfig({ AUTH: 'keys' }));
      for (const label of ['mallory', 'alice']) {
        const { key, hash, id } = newApiKey();
        const common = { tenant: null, access: 'read_write' as const, expiresAt: null };
        await new Keys(service().database).create({ hash, id, label, ...common });
        keys.set(label, key);
      }
    });
    afterAll(() => kind.close?.());

    const executeAs = async (actor: string, tenant: string, input: object) => {
      const headers = { authorization: `Bearer ${keys.get(actor)}` };
      expect((await service().execute(input, { tenant, headers })).body).toMatchObject({ is_error: false });
    };

    /** Creates tenants in which mallory changed a line, and alice another line or, in a conflict, the same line. */
    async function createPoisoned(
      label: string,
      kinds: ('clean' | 'merge' | 'conflict')[],
    ): Promise<string[]> {
      const tenants = kinds.map((_, i) => freshTenant(`${label}-${i}`));
      for (const [i, each] of kinds.entries()) {
        const tenant = tenants[i] ?? '';
        await new Tenants(service().database).create(tenant);
        await executeAs('alice', tenant, cmd.create(a, CLEAN));
        if (each === 'clean') continue;
        await executeAs('mallory', tenant, cmd.replace(a, '1\n', 'evil\n'));
        await executeAs('mallory', tenant, cmd.create('/memories/evil/x', 'evil'));
        if (each === 'merge') await executeAs('alice', tenant, cmd.replace(a, '5\n', '55\n'));
        else await executeAs('alice', tenant, cmd.replace(a, 'evil\n', 'not so evil\n'));
      }
      return tenants;
    }

    const run = () => {
      const runner = new JobRunner(service().database, [kind], (_, error) => {
        throw error;
      });
      return runner.run();
    };
    const post = async (path: string, body: object = {}) => {
      const response = await admin().call('POST', path, { body });
      expect([response.status, response.text]).toStrictEqual([201, expect.any(String)]);
      return String(response.body.id);
    };
    const start = (tenants: object) => post('/revert', { by: 'mallory', since: '1h', tenants });
    const get = async (path: string) => (await admin().call('GET', path)).body;
    const outcomes = async (id: string) => (await get(`/jobs/${id}/tenants`)).tenants;
    const readFileText = async (tenant: string) => (await readTree(service(), tenant)).get(a);

    it('makes exactly the changes from the dry run, and keeps files with conflicts unchanged', async () => {
      const tenants = await createPoisoned('many', ['clean', 'merge', 'conflict']);
      const [clean = '', merge = '', conflict = ''] = tenants;
      const dryRun = await start({ ids: tenants });
      await run();
      const found = [
        { tenant: merge, error: null, counts: { files: 2, directories: 1, conflicts: 0 } },
        { tenant: conflict, error: null, counts: { files: 1, directories: 1, conflicts: 1 } },
      ];
      expect(await outcomes(dryRun)).toMatchObject(found);
      expect(await get(`/jobs/${dryRun}`)).toMatchObject({
        kind: 'revert',
        state: 'done',
        tenants_done: 3,
        counts: { files: 3, directories: 2, conflicts: 1 },
        request: { by: 'mallory', isDryRun: true },
      });
      expect((await get(`/jobs/${dryRun}/tenants?left=true`)).tenants).toMatchObject([{ tenant: conflict }]);
      expect((await get(`/jobs/${dryRun}/tenants?left=false`)).tenants).toMatchObject([{ tenant: merge }]);
      expect(await readFileText(merge)).toBe('evil\n2\n3\n4\n55\n');
      const applied = await post(`/jobs/${dryRun}/apply`);
      await run();
      expect(await outcomes(applied)).toMatchObject(found);
      expect([
        await readFileText(clean),
        await readFileText(merge),
        await readFileText(conflict),
      ]).toStrictEqual([CLEAN, '1\n2\n3\n4\n55\n', 'not so evil\n2\n3\n4\n5\n']);
      // A second application finds the conflict again, and no change.
      const again = await post(`/jobs/${dryRun}/apply`);
      await run();
      expect(await outcomes(again)).toMatchObject([
        { tenant: conflict, error: null, counts: { files: 0, directories: 0, conflicts: 1 } },
      ]);
      const rejected = await admin().call('POST', `/jobs/${applied}/apply`);
      expect([rejected.status, rejected.body.detail]).toStrictEqual([
        409,
        `Job ${applied} is not a dry run of a revert that has ended. Start one first.`,
      ]);
      await assertInvariants(service());
    });

    it('skips a tenant that has changed since the dry run, and reverts the others', async () => {
      const tenants = await createPoisoned('late', ['merge', 'clean', 'merge']);
      const [changed = '', clean = '', other = ''] = tenants;
      const dryRun = await start({ ids: tenants });
      await run();
      await executeAs('alice', changed, cmd.replace(a, '3\n', '33\n'));
      await executeAs('mallory', clean, cmd.replace(a, '1\n', 'evil\n'));
      const applied = await post(`/jobs/${dryRun}/apply`);
      await run();
      expect(await outcomes(applied)).toMatchObject([
        { tenant: changed, error: 'precondition_failed', counts: {} },
        { tenant: clean, error: 'precondition_failed', counts: {} },
        { tenant: other, error: null, counts: { files: 2 } },
      ]);
      expect((await get(`/jobs/${applied}/tenants?left=true`)).tenants).toMatchObject([
        { tenant: changed },
        { tenant: clean },
      ]);
      expect(await get(`/jobs/${applied}`)).toMatchObject({ tenants_failed: 2, is_exact: false });
      expect([
        await readFileText(changed),
        await readFileText(clean),
        await readFileText(other),
      ]).toStrictEqual(['evil\n2\n33\n4\n55\n', 'evil\n2\n3\n4\n5\n', '1\n2\n3\n4\n55\n']);
      // A new dry run continues with the tenants that are left.
      const next = await start({ ids: tenants });
      await run();
      expect(((await outcomes(next)) as { tenant: string }[]).map(({ tenant }) => tenant)).toStrictEqual([
        changed,
        clean,
      ]);
    });

    it('counts files as reverted even if an earlier attempt reverted them and was interrupted', async () => {
      const [tenant = ''] = await createPoisoned('killed', ['merge']);
      const dryRun = await start({ ids: [tenant] });
      await run();
      const applied = await post(`/jobs/${dryRun}/apply`);
      const [row] = await service().query(
        `SELECT id::text, request, created_by AS "createdBy", created_at::text AS "createdAt" FROM jobs WHERE id::text = $1`,
        [applied],
      );
      // The process ends after the revert, before it records the result.
      await kind.work(row as unknown as RunningJob, tenant, {
        signal: new AbortController().signal,
        turn: (step) => step(),
        report: () => {},
      });
      expect(await readFileText(tenant)).toBe('1\n2\n3\n4\n55\n');
      await run();
      expect(await outcomes(applied)).toMatchObject([{ tenant, error: null, counts: { files: 2 } }]);
      expect(await readFileText(tenant)).toBe('1\n2\n3\n4\n55\n');
    });

    it("reverts only a scoped key's tenants, and hides a job with other tenants from the key", async () => {
      const [own = '', other = ''] = await createPoisoned('scoped', ['merge', 'merge']);
      const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: [own] });
      const body = { by: 'mallory', since: '1h' };
      const mine = await admin().call('POST', '/revert', { body, key });
      expect(mine.body).toMatchObject({ tenants: 1, only_tenants: [own] });
      const all = await start({ ids: [own, other] });
      await run();
      const denied = await admin().call('POST', `/jobs/${all}/apply`, { key });
      expect([denied.status, denied.body.code]).toStrictEqual([404, 'not_found']);
      const reader = (await makeKey(service(), { isAdmin: true, access: 'read_only' })).key;
      expect((await admin().call('POST', '/revert', { body, key: reader })).status).toBe(403);
      expect((await admin().call('POST', '/revert', { body: { since: '1h' } })).status).toBe(400);
    });

    it('lists conflicts by path, and resolves all conflicts with --take-all', async () => {
      const tenants = await createPoisoned('taken', ['conflict', 'merge', 'conflict']);
      const [first = '', merge = '', last = ''] = tenants;
      const tried = await start({ ids: tenants });
      await run();
      const conflicts = await get(`/jobs/${tried}/tenants/${first}/conflicts`);
      expect(conflicts).toMatchObject({
        conflicts: [{ path: a, reason: 'content', memory_id: expect.any(String) }],
        stored: 1,
        next: null,
      });
      expect((await get(`/jobs/${tried}/tenants/${merge}/conflicts`)).conflicts).toStrictEqual([]);
      const unknown = await admin().call('GET', `/jobs/${tried}/tenants/${freshTenant('none')}/conflicts`);
      expect(unknown.status).toBe(404);

      const selected = tenants.flatMap((tenant) => ['--tenant', tenant]);
      const args = ['revert', ...selected, '--by', 'mallory', '--since', '1h'];
      const listed = await runOn(service(), [...args, '--dry-run']);
      expect(listed.stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toStrictEqual(
        expect.arrayContaining([
          ['TENANT', 'CONFLICT', 'REASON'],
          [first, a, 'others changed the same lines'],
          [last, a, 'others changed the same lines'],
        ]),
      );
      expect(listed.stderr).toContain('Resolve all conflicts with --take-all reverted or --take-all current');
      const kept = await runOn(service(), [...args, '--dry-run', '--take-all', 'current']);
      expect([kept.code, kept.stderr]).toStrictEqual([
        0,
        expect.stringContaining('4 files, 3 directories, 2 resolved conflicts, 0 conflicts.'),
      ]);
      const taken = await runOn(service(), [...args, '--yes', '--take-all', 'reverted', '--json']);
      expect([taken.code, JSON.parse(taken.stdout)]).toMatchObject([
        0,
        { counts: { files: 6, conflicts: 0, resolved: 2 }, request: { take_all: 'reverted' } },
      ]);
      expect(await Promise.all(tenants.map(readFileText))).toStrictEqual([CLEAN, '1\n2\n3\n4\n55\n', CLEAN]);
    });

    it('resolves the conflicts in one tenant with --take-all, except in files that --take names', async () => {
      const [tenant = ''] = await createPoisoned('taken-one', ['conflict']);
      const b = '/memories/b';
      await executeAs('alice', tenant, cmd.create(b, CLEAN));
      await executeAs('mallory', tenant, cmd.replace(b, '1\n', 'evil\n'));
      await executeAs('alice', tenant, cmd.replace(b, 'evil\n', 'harmless\n'));
      const args = ['revert', tenant, '--by', 'mallory', '--since', '1h', '--take-all', 'reverted'];
      const done = await runOn(service(), [...args, '--take', `${b}=current`]);
      expect([done.code, done.stderr]).toStrictEqual([
        0,
        expect.stringMatching(/Resolved with the reverted state(.|\n)*Resolved with the current state/),
      ]);
      expect(await readFileText(tenant)).toBe(CLEAN);
      expect((await readTree(service(), tenant)).get(b)).toBe('harmless\n2\n3\n4\n5\n');
    });

    it('names the open drafts that may still contain the reverted changes', async () => {
      const [copied = '', written = '', clean = ''] = await createPoisoned('drafts', [
        'merge',
        'clean',
        'clean',
      ]);
      const copy = await drafting.create(copied);
      const draft = await drafting.create(written);
      await executeAs('mallory', draft.id, cmd.create('/memories/evil/draft', 'evil'));
      await drafting.create(clean);
      const tried = await start({ ids: [copied, written, clean] });
      await run();
      expect(await outcomes(tried)).toMatchObject([
        { tenant: copied, counts: { files: 2, drafts: 1 } },
        { tenant: written, counts: { files: 0, drafts: 1 } },
      ]);
      const body = { by: 'mallory', since: '1h' };
      const one = await admin().call('POST', `/tenants/${written}/revert`, { body });
      expect(one.body.drafts).toStrictEqual([draft.id]);
      const selected = ['--tenant', copied, '--tenant', written, '--tenant', clean];
      const many = await runOn(service(), [
        'revert',
        ...selected,
        '--by',
        'mallory',
        '--since',
        '1h',
        '--yes',
      ]);
      expect([many.code, many.stderr]).toStrictEqual([
        0,
        expect.stringContaining('2 open drafts may still contain the changes. Reject or edit these drafts.'),
      ]);
      const single = await runOn(service(), ['revert', copied, '--by', 'mallory', '--since', '1h']);
      expect(single.stderr).toContain(
        `Open drafts that may still contain the changes: ${copy.id}. Before a merge`,
      );
      expect((await readTree(service(), copy.id)).get(a)).toBe('evil\n2\n3\n4\n55\n');
    });

    it('counts the reverted files that contain a kept-out text', async () => {
      const tenants = ['kept-out-1', 'kept-out-2'].map((label) => freshTenant(label));
      for (const tenant of tenants) {
        await new Tenants(service().database).create(tenant);
        await executeAs('alice', tenant, cmd.create(a, 'Ana lives at 12 Elm Street\n'));
        await executeAs('mallory', tenant, cmd.create(a.replace('a', 'b'), 'x'));
        await executeAs('mallory', tenant, cmd.delete(a));
      }
      const [tenant = ''] = tenants;
      await post(`/tenants/${tenant}/kept-out`, { text: 'ana lives at 12 elm street' });
      const dryRun = await start({ ids: tenants });
      await run();
      const applied = await post(`/jobs/${dryRun}/apply`);
      await run();
      for (const id of [dryRun, applied]) {
        expect(await get(`/jobs/${id}`)).toMatchObject({ counts: { files: 4, kept_out: 1 } });
        expect(await outcomes(id)).toMatchObject([
          { tenant, counts: { kept_out: 1 } },
          { tenant: tenants[1], counts: { kept_out: 0 } },
        ]);
      }
      await executeAs('mallory', tenant, cmd.delete(a));
      const printed = await runOn(service(), [
        'revert',
        '--tenant',
        tenant,
        '--by',
        'mallory',
        '--since',
        '1h',
        '--yes',
      ]);
      expect(printed.stderr).toContain(' Warning: 1 file contains a text that is kept out.\n');
      for (const each of tenants) await new Tenants(service().database).delete(each);
    });

    it('prints the affected tenants, and reverts them only with --yes', async () => {
      const [merge = '', conflict = ''] = await createPoisoned('command', ['merge', 'conflict']);
      const args = ['revert', '--tenant', merge, '--tenant', conflict, '--by', 'mallory', '--since', '1h'];
      const tried = await runOn(service(), [...args, '--dry-run']);
      expect([
        tried.code,
        tried.stdout.split('\n').map((line) => line.split(/ +/).slice(0, 4)),
      ]).toStrictEqual([
        3,
        [
          ['TENANT', 'CONFLICTS', 'FILES', 'DIRECTORIES'],
          [conflict, '1', '1', '1'],
          [merge, '0', '2', '1'],
          [''],
          ['TENANT', 'CONFLICT', 'REASON'],
          [conflict, a, 'others', 'changed'],
          [''],
        ],
      ]);
      expect(tried.stderr).toMatch(
        /^Job \S+: dry run in 2 tenants\.\nNOT reverted: 1 conflict\.\nWould revert in job \S+: 3 files, 2 directories, 1 conflict\. Read 2 tenants\.\n/,
      );
      const unconfirmed = await runOn(service(), args);
      expect([unconfirmed.code, unconfirmed.stderr]).toStrictEqual([
        1,
        expect.stringContaining('Add --yes to confirm. No tenant was reverted.'),
      ]);
      expect(await readFileText(merge)).toBe('evil\n2\n3\n4\n55\n');
      const done = await runOn(service(), [...args, '--yes', '--json']);
      expect([done.code, JSON.parse(done.stdout)]).toMatchObject([
        3,
        { kind: 'revert', counts: { files: 3 }, outcomes: [{ tenant: merge }, { tenant: conflict }] },
      ]);
      expect(await readFileText(merge)).toBe('1\n2\n3\n4\n55\n');
      const unclear = await runOn(service(), ['revert', '--by', 'mallory', '--since', '1h']);
      expect([unclear.code, unclear.stderr]).toStrictEqual([2, expect.stringContaining('or use --all')]);
      const both = await runOn(service(), ['revert', merge, '--all', '--by', 'mallory', '--since', '1h']);
      expect([both.code, both.stderr]).toStrictEqual([2, expect.stringContaining('name one tenant')]);
    });
  },
  { AUTH: 'keys' },
);
