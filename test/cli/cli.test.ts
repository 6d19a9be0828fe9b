/**
 * The commands that run a deployment, as an operator uses them.
 *
 * @module-tag long-on-pglite
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { History } from '../../src/core/history/history.ts';
import type { Version } from '../../src/core/history/version.ts';
import { createProgram } from '../../src/service/program.ts';
import { assertInvariants } from '../support/invariants.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';
import { readRows, scratchDirectory } from '../support/transfer-files.ts';

const NEW_ID_RULE =
  'must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -, without "-" or "draft_" at the start, and not "." or "..".';

describeServiceOnOwnDatabase(
  'the command line',
  (service) => {
    const run = (...args: string[]) => runOn(service(), args);
    const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout);
    const create = async (tenant: string, files: Record<string, string> = {}) => {
      expect(await run('tenants', 'create', tenant)).toMatchObject({ code: 0 });
      for (const [path, stdin] of Object.entries(files)) {
        expect(await runOn(service(), ['put', tenant, path], { stdin })).toMatchObject({ code: 0 });
      }
    };

    const readHistory = async (tenant: string) => {
      const versions: Version[] = [];
      for await (const version of new History(service().database).versions(tenant)) versions.push(version);
      return versions;
    };

    it('manages a tenant and its keys, from the creation to the deletion', async () => {
      expect(await run('tenants', 'create', 'acme', '--max-files', '2')).toStrictEqual({
        code: 0,
        stderr: '',
        stdout: 'Created tenant acme.\n',
      });
      expect(await run('tenants', 'create', 'acme')).toStrictEqual({
        code: 1,
        stdout: '',
        stderr: 'memory-service: Tenant acme already exists. Choose another ID.\n',
      });

      const { id, key } = await json(
        'keys',
        'create',
        '--tenant',
        'acme',
        '--expires',
        '90d',
        '--label',
        'w',
      );
      expect(key).toMatch(/^msk_/);
      expect((await run('keys', 'create', '--tenant', 'nobody')).stderr).toBe(
        'memory-service: Tenant nobody does not exist. See: memory-service tenants list\n',
      );
      const headers = { authorization: `Bearer ${key}` };
      const created = await service().execute(cmd.create('/memories/a', 'xyz'), { headers });
      expect(created.content).toBe('File created successfully at: /memories/a');
      expect((await service().execute(cmd.view('/memories/a'))).status).toBe(401);

      const listed = await run('keys', 'list', '--tenant', 'acme');
      expect(listed.stdout).toMatch(new RegExp(`^${id} +acme +read_write +w `, 'm'));
      expect(listed.stdout).not.toContain(key);

      expect((await run('usage', 'acme')).stdout).toBe(
        'acme     USED  LIMIT   PERCENT\nfiles    1     2       50%\nsize     3 B   100 MB  0%\nhistory  0 B   1 GB    0%\n',
      );
      expect(await json('usage', 'acme')).toStrictEqual({
        id: 'acme',
        files: { used: 1, limit: 2 },
        bytes: { used: 3, limit: 104_857_600 },
        history_bytes: { used: 0, limit: 1_073_741_824 },
        history_versions: 0,
        stored_results: 0,
        last_activity_at: expect.any(String),
      });
      expect(await json('usage')).toMatchObject({ tenants: 1, files: 1, bytes: 3, history_versions: 0 });
      expect(
        await run('tenants', 'set', 'acme', '--max-files', 'default', '--secrets', 'mask'),
      ).toStrictEqual({
        code: 0,
        stderr: '',
        stdout: 'Changed tenant acme. It takes effect within AUTH_CACHE_SECONDS.\n',
      });
      expect((await run('tenants', 'suspend', 'acme')).code).toBe(0);
      expect((await json('tenants', 'show', 'acme')).suspended_at).toMatch(/^\d{4}-/);
      expect((await run('tenants', 'resume', 'acme')).code).toBe(0);
      expect((await run('tenants', 'suspend', 'nobody')).stderr).toBe(
        'memory-service: Tenant nobody does not exist. See: memory-service tenants list\n',
      );
      expect((await run('keys', 'revoke', id)).code).toBe(0);
      expect((await run('keys', 'revoke', id)).code).toBe(1);
      expect((await run('expire', '--dry-run')).stdout).toBe(
        'Would delete 0 files (0 bytes) of 0 tenants.\n',
      );

      expect(await run('tenants', 'delete', 'acme')).toStrictEqual({
        code: 1,
        stdout: '',
        stderr:
          'memory-service: Permanently delete tenant acme with 1 file (3 bytes)? Add --yes to confirm. Nothing was deleted.\n',
      });
      expect((await run('tenants', 'delete', 'acme', '--yes')).stdout).toBe(
        'Deleted tenant acme: 1 row of tenants, 2 rows of entries, 0 rows of versions, 0 rows of past_directories, 0 rows of idempotency_keys, 1 row of api_keys.\n',
      );
    });

    it('shows each tenant setting and whether the tenant or the environment sets it', async () => {
      await run('tenants', 'create', 'shown', '--max-files', '500', '--max-bytes', '0');
      await run('tenants', 'create', 'units', '--max-bytes', '1.5GB', '--history-days', '2w');
      expect((await json('tenants', 'show', 'units')).settings).toMatchObject({
        max_bytes: 1_610_612_736,
        history_days: 14,
      });
      const { stdout } = await run('tenants', 'show', 'shown');
      expect(stdout).not.toMatch(/item|null|undefined/);
      expect(stdout).toMatch(/^status +active$/m);
      expect(stdout).toMatch(/^last activity +never$/m);
      expect(stdout).toMatch(/^max_files +500 +tenant$/m);
      expect(stdout).toMatch(/^max_bytes +no limit +tenant$/m);
      expect(stdout).toMatch(/^max_file_bytes +1 MB +environment$/m);
      expect(stdout).toMatch(/^ttl_days +never +environment$/m);
      expect(await json('tenants', 'show', 'shown')).toStrictEqual({
        id: 'shown',
        name: 'shown',
        description: '',
        metadata: {},
        draft_of: null,
        status: 'active',
        created_at: expect.any(String),
        suspended_at: null,
        archived_at: null,
        last_change_at: null,
        files: 0,
        bytes: 0,
        history_versions: 0,
        history_bytes: 0,
        history_since: expect.any(String),
        used_percent: 0,
        mounts: [],
        stored_results: 0,
        last_activity_at: null,
        settings: {
          max_file_bytes: null,
          max_bytes: 0,
          max_files: 500,
          max_view_chars: null,
          rate_per_minute: null,
          max_body_bytes: null,
          ttl_days: null,
          secrets: null,
          create_existing: null,
          history_days: null,
          max_history_bytes: null,
          max_drafts: null,
          max_draft_bytes: null,
          draft_days: null,
          max_context_chars: null,
          pinned_paths: null,
          read_log_days: null,
          read_log: null,
          provenance: null,
        },
        effective: {
          max_file_bytes: 1_048_576,
          max_bytes: 0,
          max_files: 500,
          max_view_chars: 100_000,
          rate_per_minute: 6000,
          max_body_bytes: 6_356_992,
          ttl_days: 0,
          secrets: 'store',
          create_existing: 'error',
          history_days: 30,
          max_history_bytes: 1_073_741_824,
          max_drafts: 20,
          max_draft_bytes: 524_288_000,
          draft_days: 30,
          max_context_chars: 16_000,
          pinned_paths: '',
          read_log_days: 0,
          read_log: 'daily',
          provenance: 'never',
        },
      });
    });

    it('selects and sorts tenants with the options of `tenants list`', async () => {
      await create('l-small', { '/memories/a': 'x' });
      await create('l-large', { '/memories/a': 'x'.repeat(1000) });
      await create('l-many', { '/memories/a': 'a', '/memories/b': 'b', '/memories/c': 'c' });
      await run('tenants', 'create', 'L-empty');
      await run('tenants', 'set', 'l-many', '--max-files', '3');
      await run('tenants', 'set', 'l-large', '--max-bytes', '1100');
      await run('tenants', 'set', 'l-small', '--max-bytes', '0', '--max-files', '0');
      await run('tenants', 'suspend', 'l-small');
      const ids = async (...args: string[]) =>
        (await json('tenants', 'list', ...args)).map(({ id }: { id: string }) => id);
      expect(await ids('--prefix', 'l-')).toStrictEqual(['l-large', 'l-many', 'l-small']);
      expect(await ids('--search', 'L-')).toStrictEqual(['L-empty', 'l-large', 'l-many', 'l-small']);
      expect(await ids('--prefix', 'l-', '--sort', 'bytes')).toStrictEqual(['l-large', 'l-many', 'l-small']);
      expect(await ids('--prefix', 'l-', '--sort', 'files', '--limit', '1')).toStrictEqual(['l-many']);
      expect(await ids('--prefix', 'l-', '--near-limit', '90')).toStrictEqual(['l-large', 'l-many']);
      expect(await ids('--near-limit', '91', '--sort', 'used')).toStrictEqual(['l-many']);
      expect(await ids('--status', 'suspended')).toStrictEqual(['l-small']);
      await run('tenants', 'set', 'l-many', '--metadata', 'plan=pro', '--metadata', 'region=eu=1');
      expect(await ids('--metadata', 'plan=pro', '--metadata', 'region=eu=1')).toStrictEqual(['l-many']);
      expect(await ids('--metadata', 'plan=pro', '--metadata', 'region=eu')).toStrictEqual([]);
      expect(await run('tenants', 'list', '--metadata', 'plan')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          'The pairs must be a key of 1 to 64 characters, an equals sign, and a value of at most 512 characters, such as plan=pro.',
        ),
      });

      const [small] = await json('tenants', 'list', '--prefix', 'l-small');
      const shown = await json('tenants', 'show', 'l-small');
      const { stored_results: _, ...listed } = shown;
      expect(small).toStrictEqual(listed);
      expect(small).toMatchObject({ files: 1, bytes: 1, used_percent: null, status: 'suspended' });
      await service().query(
        `UPDATE entries SET updated_at = '2031-01-02T03:04:05Z' WHERE tenant_id = 'l-large' AND kind = 'file'`,
      );
      expect(await ids('--prefix', 'l-', '--sort', 'activity', '--limit', '1')).toStrictEqual(['l-large']);
      expect((await run('tenants', 'list', '--prefix', 'l-large')).stdout).toBe(
        'TENANT   FILES    SIZE  USED          LAST ACTIVITY         STATUS\n' +
          'l-large      1  1000 B  90% of bytes  2031-01-02T03:04:05Z  active\n',
      );
    });

    it('counts a change as activity, even if no file is left', async () => {
      await create('busy', { '/memories/a': 'x' });
      await run('rm', 'busy', '/memories/a');
      const [{ at } = { at: '' }] = await service().query(
        `SELECT date_trunc('second', last_change_at) AS at FROM tenants WHERE id = 'busy'`,
      );
      const last = new Date(String(at)).toISOString().replace('.000Z', 'Z');
      expect((await json('tenants', 'show', 'busy')).last_activity_at.slice(0, 19)).toBe(last.slice(0, 19));
      expect((await run('tenants', 'list', '--prefix', 'busy')).stdout).toContain(`  ${last}  active\n`);
    });

    it("warns that limits from the command's environment may differ from the service's", async () => {
      await run('tenants', 'create', 'unset');
      const shown = await runOn(service(), ['tenants', 'show', 'unset'], { env: { MAX_TENANT_BYTES: '5' } });
      expect(shown.stdout).toMatch(/^max_bytes +5 B +environment$/m);
      expect(shown.stderr).toBe(
        "\nLimits that a tenant does not set come from this command's environment variables, which may differ from the environment of the running service.\n",
      );
    });

    it("counts a key's last use as a tenant's activity", async () => {
      await run('tenants', 'create', 'active');
      await run('keys', 'create', '--tenant', 'active');
      expect((await json('tenants', 'show', 'active')).last_activity_at).toBe(null);
      await service().query(
        `UPDATE api_keys SET last_used_at = '2031-01-02T03:04:05Z' WHERE tenant_id = 'active'`,
      );
      expect((await json('tenants', 'show', 'active')).last_activity_at).toBe('2031-01-02T03:04:05.000Z');
    });

    it('changes several tenants, after a confirmation if they are selected by prefix', async () => {
      for (const id of ['b-1', 'b-2', 'b-3']) await run('tenants', 'create', id);
      const limits = async () =>
        (await json('tenants', 'list', '--prefix', 'b-')).map(
          ({ settings }: { settings: { max_files: number } }) => settings.max_files,
        );
      expect((await run('tenants', 'set', 'b-1', 'b-2', '--max-files', '7')).stdout).toBe(
        'Changed 2 tenants. It takes effect within AUTH_CACHE_SECONDS.\n',
      );
      expect(await limits()).toStrictEqual([7, 7, null]);
      expect((await run('tenants', 'set', 'b-3', 'nobody', '--max-files', '8')).code).toBe(1);
      expect(await run('tenants', 'set', '--prefix', 'b-', '--max-files', '9', '--dry-run')).toStrictEqual({
        code: 0,
        stdout: 'b-1\nb-2\nb-3\n',
        stderr: 'Would change 3 tenants.\n',
      });
      expect(await run('tenants', 'set', '--prefix', 'b-', '--max-files', '9')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Change 3 tenants? Add --yes'),
      });
      expect(await limits()).toStrictEqual([7, 7, null]);
      expect((await run('tenants', 'set', '--prefix', 'b-', '--max-files', '9', '--yes')).code).toBe(0);
      expect(await limits()).toStrictEqual([9, 9, 9]);
      expect((await run('tenants', 'set', '--prefix', 'zz', '--max-files', '9', '--yes')).stderr).toBe(
        'memory-service: No matching tenants. See: memory-service tenants list\n',
      );
    });

    it.each([
      ['yes', 'y\n', 0],
      ['no', 'n\n', 1],
      ['Ctrl-C', '\u0003', 1],
      ['Ctrl-D', '\u0004', 1],
    ])('deletes a tenant only if the prompt is confirmed: reply %s', async (name, typed, code) => {
      const tenant = `asked-${name}`;
      await run('tenants', 'create', tenant);
      const asked = await runOn(service(), ['tenants', 'delete', tenant], { typed });
      expect(asked.code).toBe(code);
      expect(asked.stderr).toContain(`Permanently delete tenant ${tenant} with 0 files (0 bytes)? [y/N] `);
      expect(asked.stderr).not.toMatch(/ at |Error/);
      if (code === 1) expect(asked.stderr).toMatch(/\nmemory-service: Nothing was deleted\.\n$/);
      expect((await run('tenants', 'show', tenant)).code).toBe(1 - code);
    });

    it('writes and deletes one file with `put` and `rm`, with the same rules as for requests', async () => {
      const settings = ['--max-file-bytes', '20', '--secrets', 'mask', '--create-existing', 'overwrite'];
      await run('tenants', 'create', 'changed', ...settings);
      expect((await json('tenants', 'show', 'changed')).settings).toMatchObject({
        create_existing: 'overwrite',
      });
      const put = (stdin: string | Buffer, ...args: string[]) =>
        runOn(service(), ['put', 'changed', ...args], { stdin });
      expect(await put('one\r\n', '/memories/d/a')).toStrictEqual({
        code: 0,
        stdout: 'File created successfully at: /memories/d/a\n',
        stderr: '',
      });
      expect(await put('two', '/memories/d/a')).toMatchObject({
        code: 1,
        stderr: 'memory-service: /memories/d/a already exists. Add --force to replace it.\n',
      });
      expect((await put('two', '/memories/d')).stderr).toBe('memory-service: /memories/d already exists.\n');
      expect((await put('two', '/memories/d/a', '--force', '--json')).stdout).toContain(
        '"action": "replaced"',
      );
      expect((await run('cat', 'changed', '/memories/d/a')).stdout).toBe('two');
      for (const same of ['two', '']) {
        await put(same, '/memories/d/a', '--force');
        const versions = (await readHistory('changed')).length;
        expect(await put(same, '/memories/d/a', '--force')).toStrictEqual({
          code: 0,
          stderr: '',
          stdout: 'File unchanged at: /memories/d/a. It had this content already.\n',
        });
        expect((await put(same, '/memories/d/a', '--force', '--json')).stdout).toContain(
          '"action": "unchanged"',
        );
        expect(await readHistory('changed')).toHaveLength(versions);
      }
      await put('two', '/memories/d/a', '--force');
      expect((await put('new', '/memories/d/b', '--force')).code).toBe(0);
      expect((await put('x'.repeat(21), '/memories/d/a', '--force')).code).toBe(1);
      expect((await put('x'.repeat(21), '/memories/d/c')).code).toBe(1);
      expect((await put('x', '/memories/d', '--force')).code).toBe(1);
      expect((await put('a\0b', '/memories/nul')).stderr).toContain('NUL');
      expect((await put(Buffer.from([0xe9]), '/memories/bytes')).stderr).toContain('not UTF-8');
      expect((await run('put', 'changed', '/memories/x', '/nowhere/x')).stderr).toContain('ENOENT');
      await run('tenants', 'set', 'changed', '--max-file-bytes', 'default', '--max-bytes', '5');
      expect((await put('x'.repeat(9), '/memories/d/a', '--force')).stderr).toBe(
        'memory-service: Tenant changed uses 6 of 5 bytes, and the change needs 6 more. Raise the limit with: memory-service tenants set changed --max-bytes 12\n',
      );
      await run('tenants', 'set', 'changed', '--max-bytes', 'default');
      await put(`ghp_${'a1B2'.repeat(9)}`, '/memories/key');
      expect((await run('cat', 'changed', '/memories/key')).stdout).toBe('[REDACTED:github_token]');

      expect(await run('rm', 'changed', '/memories/d')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Add --recursive'),
      });
      expect((await run('rm', 'changed', '/memories/d/a')).code).toBe(0);
      expect((await run('rm', 'changed', '/memories/d/a')).code).toBe(1);
      expect((await run('rm', 'changed', '/memories/d', '-r')).code).toBe(0);
      expect([...(await readRows(service(), 'changed')).keys()]).toStrictEqual([
        '/memories',
        '/memories/key',
      ]);
      await assertInvariants(service());
    });

    it("copies a tenant's files and settings, but not its keys", async () => {
      await create('c-1', { '/memories/d/a': 'a', '/memories/b': 'grüße' });
      await run('tenants', 'set', 'c-1', '--max-files', '1', '--ttl-days', '30');
      await run('keys', 'create', '--tenant', 'c-1');
      const copied = await run('tenants', 'copy', 'c-1', 'c-2');
      expect(copied.stdout).toBe('Copied tenant c-1 to c-2: 2 files (8 bytes).\n');
      expect(await readRows(service(), 'c-2')).toStrictEqual(await readRows(service(), 'c-1'));
      const {
        created_at: _,
        id: __,
        name: ___,
        last_activity_at: ____,
        last_change_at: _____,
        history_since: ______,
        ...same
      } = await json('tenants', 'show', 'c-1');
      expect(await json('tenants', 'show', 'c-2')).toMatchObject(same);
      expect(await json('keys', 'list', '--tenant', 'c-2')).toStrictEqual([]);
      expect(await readHistory('c-2')).toMatchObject([
        { operation: 'created', actor: { type: 'operator' }, supersededAt: null },
        { operation: 'created', actor: { type: 'operator' }, supersededAt: null },
      ]);
      await runOn(service(), ['put', 'c-2', '/memories/b', '--force'], { stdin: 'changed' });
      await run('rm', 'c-2', '/memories/d', '-r');
      expect((await run('tenants', 'copy', 'c-1', 'c-2')).stderr).toContain('Tenant c-2 already exists.');
      expect((await run('tenants', 'copy', 'nobody', 'c-3')).stderr).toContain(
        'Tenant nobody does not exist.',
      );
      expect((await run('tenants', 'copy', 'c-1', 'c-1')).code).toBe(1);
      await assertInvariants(service());
    });

    it('copies a tenant with several pages, even if it exceeds its limits', async () => {
      const files = Object.fromEntries(
        Array.from({ length: 12 }, (_, i) => [`/memories/d${i % 3}/${i}`, 'x'.repeat(900_000)]),
      );
      await create('p-1', files);
      await run('tenants', 'set', 'p-1', '--max-files', '1', '--max-bytes', '1');
      expect((await json('tenants', 'copy', 'p-1', 'p-2')).files).toBe(12);
      expect(await readRows(service(), 'p-2')).toStrictEqual(await readRows(service(), 'p-1'));
      await assertInvariants(service());
    });

    it('renames a tenant with its history, keys, and stored results', async () => {
      await create('r-1', { '/memories/d/a': 'first', '/memories/gone/b': 'b' });
      await runOn(service(), ['put', 'r-1', '/memories/d/a', '--force'], { stdin: 'a' });
      await run('rm', 'r-1', '/memories/gone', '-r');
      const { key } = await json('keys', 'create', '--tenant', 'r-1');
      const createOnce = () =>
        service().execute(cmd.create('/memories/once', 'x'), {
          headers: { authorization: `Bearer ${key}`, 'idempotency-key': 'once' },
        });
      expect((await createOnce()).content).toBe('File created successfully at: /memories/once');
      const before = await readRows(service(), 'r-1');
      const history = await readHistory('r-1');
      expect(history.map(({ operation }) => operation).sort()).toStrictEqual([
        'created',
        'created',
        'created',
        'deleted',
        'modified',
      ]);
      expect((await run('tenants', 'rename', 'r-1', 'r-2')).stdout).toBe(
        'Renamed tenant r-1 to r-2: 2 files (2 bytes), 1 key. Keys work for the new ID at once.\n',
      );
      expect(await readRows(service(), 'r-2')).toStrictEqual(before);
      expect(await readHistory('r-2')).toStrictEqual(history);
      // A revert can start at the first change.
      const since = String(history.map((each) => each.createdAt).sort()[0]);
      const reverted = await run('revert', 'r-2', '--by', 'operator', '--since', since, '--dry-run');
      expect(reverted.stdout).toContain('D /memories/');
      expect((await run('tenants', 'show', 'r-1')).code).toBe(1);
      expect(await json('keys', 'list', '--tenant', 'r-2')).toHaveLength(1);
      const rows = await service().query(`SELECT 1 AS one FROM idempotency_keys WHERE tenant_id = 'r-2'`);
      expect(rows).toHaveLength(1);
      await assertInvariants(service());
    });

    it('removes history with `redact` and `history prune`', async () => {
      await run('tenants', 'create', 'past', '--history-days', '7', '--max-history-bytes', '2000');
      expect((await run('tenants', 'set', 'past', '--history-days', '36501')).stderr).toContain(
        'Use a duration of whole days such as 30d, or a whole number of days, from 0 (none) to 36500 days, or default.',
      );
      const { key } = await json('keys', 'create', '--tenant', 'past');
      const headers = { authorization: `Bearer ${key}` };
      const f = '/memories/f';
      for (const step of [
        cmd.create(f, 'one'),
        cmd.replace(f, 'one', 'two'),
        cmd.replace(f, 'two', 'three'),
      ]) {
        expect((await service().execute(step, { headers })).is_error).toBe(false);
      }
      const [first] = await service().query(
        'SELECT id FROM versions WHERE tenant_id = $1 ORDER BY created_at',
        ['past'],
      );
      expect((await run('redact', 'past', String(first?.id), '--yes')).stdout).toBe(
        'Redacted versions: 1, stored results: 0.\nOther versions that still have a redacted path: 1. Redact them too if it is a secret.\n',
      );
      expect(await run('redact', 'past', '00000000')).toMatchObject({
        code: 1,
        stderr: 'memory-service: Version 00000000 of past does not exist. See: memory-service log past\n',
      });
      const { history_versions: versions } = await json('usage', 'past');
      expect(versions).toBe(2);
      expect((await run('history', 'prune', 'past')).stdout).toBe(
        'Deleted 0 versions (0 bytes of history).\n',
      );
      await run('tenants', 'set', 'past', '--history-days', '0');
      expect((await json('tenants', 'show', 'past')).settings).toMatchObject({
        history_days: 0,
        max_history_bytes: 2000,
      });
      expect((await run('history', 'prune', 'past')).stdout).toMatch(
        /^Deleted 2 versions \(1\.\d KB of history\)\.\n$/,
      );
      expect((await run('history', 'prune', 'nobody')).stderr).toBe(
        'memory-service: Tenant nobody does not exist. See: memory-service tenants list\n',
      );
      const { body } = await service().app.inject('/metrics');
      expect(body).toMatch(/^memory_history_versions_pruned_total [1-9]/m);
      expect(body).toMatch(/^memory_history_bytes_pruned_total [1-9]/m);
    });

    it("redacts a directory's name after the directory is deleted", async () => {
      await create('gone', { '/memories/d/f': 'x' });
      await run('rm', 'gone', '/memories/d/f');
      const redact = (subject: string) => run('redact', 'gone', subject, '--yes');
      expect(await redact('/memories/d')).toMatchObject({
        code: 1,
        stderr:
          'memory-service: /memories/d still exists. Delete or rename it first, then redact its name.\n',
      });
      for (const { id } of await readHistory('gone')) expect(await redact(id)).toMatchObject({ code: 0 });
      await run('rm', 'gone', '/memories/d', '--recursive');
      expect((await run('redact', 'gone', '/memories/d', '--dry-run')).stdout).toBe(
        'Would redact directories: 1, and all stored results of gone.\n',
      );
      expect(await run('redact', 'gone', '/memories/d')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('--yes'),
      });
      expect((await redact('/memories/d')).stdout).toBe('Redacted directories: 1, stored results: 0.\n');
      expect(await redact('/memories/d')).toMatchObject({
        code: 1,
        stderr: 'memory-service: Tenant gone never had a directory /memories/d.\n',
      });
      expect(await redact('/etc')).toMatchObject({ code: 2 });
    });

    it('exports over an existing file only with --force', async () => {
      await create('e-1', { '/memories/a': 'a' });
      const file = join(await scratchDirectory(), 'memory.tar');
      await writeFile(file, 'the one before');
      expect(await run('export', 'e-1', '--output', file)).toMatchObject({
        code: 1,
        stderr: `memory-service: ${file} already exists. Add --force to replace it.\n`,
      });
      expect(await json('export', 'e-1', '--output', file, '--force')).toStrictEqual({
        tenant: 'e-1',
        output: file,
        files: 1,
        bytes: 1,
      });
      expect((await run('export', 'e-1', '--output', join(file, 'x'))).stderr).toContain(
        'its directory is a file (ENOTDIR)',
      );
      expect((await run('export', 'e-1', '--output', join(file, '..'))).stderr).toContain('is a directory');
    });

    it.each([
      [['tenants', 'create', 'a/b'], NEW_ID_RULE],
      [['tenants', 'create', '--', '-x'], NEW_ID_RULE],
      [['tenants', 'copy', 'a', '--', '-x'], NEW_ID_RULE],
      [['tenants', 'set', 'acme'], 'nothing to set'],
      [['tenants', 'set', '--max-files', '1'], 'name tenants, select them'],
      [['tenants', 'set', 'acme', '--all', '--max-files', '1'], 'name tenants, select them'],
      [['tenants', 'list', '--sort', 'size'], 'Allowed choices are id, files, bytes, used, activity.'],
      [['tenants', 'list', '--near-limit', 'x'], 'Use a percentage'],
      [['keys', 'create'], 'requires one of --tenant <tenant>, --service or --admin'],
      [['tenants', 'creat'], "unknown command 'creat'"],
      [
        ['put', 'acme', '/etc/passwd'],
        "error: <path> cannot be '/etc/passwd'. Path must start with /memories, got: /etc/passwd\n",
      ],
      [
        ['ls', 'acme', '--at', 'noon'],
        `error: --at cannot be 'noon'. "noon" is not a valid time. Use an ISO 8601 time`,
      ],
      [['log', 'acme', '-p', '--limit', '0'], "--limit cannot be '0'. Use a whole number of at least 1.\n"],
      [['log', 'acme', '--content'], 'error: --content works only with --json\n'],
      [['export', 'acme', '--json'], 'error: --json works only with --output <file>\n'],
      [['restore', 'acme'], 'error: requires --at <time> or --version <id>\n'],
      [['restore', 'acme', '--version', 'abc'], 'or at least its first four characters.\n'],
      [['redact', 'acme', 'none'], "error: <version> cannot be 'none'. Use the ID of a version"],
      [['revert', 'acme', '--by', 'x', '--since', 'noon'], "error: --since cannot be 'noon'."],
      [['diff', 'acme', '/memories'], 'error: to compare a path, give --at <time>\n'],
      [
        ['diff', 'acme', '5d1f8f0e', '--at', '1h'],
        '--at and --to work only with a path, not with a version\n',
      ],
    ])('rejects the arguments %j in one line, with a hint and exit code 2', async (args, message) => {
      const ran = await run(...args);
      expect(ran).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toContain(message);
      expect(ran.stderr).toMatch(/\nSee: memory-service( \w+){0,2} --help\n$/);
      expect(ran.stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(3);
    });

    it('lists which versions it would redact and keep before it asks for confirmation', async () => {
      await create('secret', { '/memories/a': 'one\nhunter2\n', '/memories/copy': '  hunter2\nx' });
      const put = (stdin: string) => runOn(service(), ['put', 'secret', '/memories/a', '--force'], { stdin });
      await put('one\nhunter2\ntwo\n');
      await put('one\nhunter2\n');
      await put('none');
      await run('rm', 'secret', '/memories/a');
      const all = await readHistory('secret');
      const maskIds = (text: string) =>
        all
          .reduce((masked, { id }, index) => masked.replaceAll(id, `<${index}>`), text)
          .replace(/20\S+Z */g, 'T ');
      const preview = `These versions and all stored results of the tenant would be redacted:
  T <2>  /memories/a
  T <5>  /memories/a

These are kept and may contain the same text or path. Redact each one that does:
  T <0>  /memories/a: the path, 0 of 2 lines
  T <1>  /memories/a: the path, 0 of 2 lines
  T <3>  /memories/a: the path, 2 of 2 lines
  T <4>  /memories/copy (live): 1 of 2 lines
`;
      const id = all[2]?.id ?? '';
      const dry = await run('redact', 'secret', id, '--dry-run');
      expect([dry.code, maskIds(dry.stdout), dry.stderr]).toStrictEqual([0, preview, '']);
      expect(await json('redact', 'secret', id, '--dry-run')).toMatchObject({
        dry_run: true,
        lines: 2,
        redacted: { 0: { id, path: '/memories/a' }, 1: { id: all[5]?.id } },
        remaining: { 3: { is_live: true, is_same_file: false, has_path: false, shared_lines: 1 } },
      });

      const question = `Permanently redact version ${id} of secret, and all with the same content?`;
      expect(await run('redact', 'secret', id)).toStrictEqual({
        code: 1,
        stdout: '',
        stderr: `memory-service: ${question} Add --yes to confirm. Nothing was redacted.\n`,
      });
      const asked = await runOn(service(), ['redact', 'secret', id], { typed: 'n\n' });
      expect(asked).toMatchObject({ code: 1, stdout: '' });
      expect(maskIds(asked.stderr)).toContain(preview);
      expect(asked.stderr).toContain(`${question} [y/N] `);
      expect((await run('show', 'secret', id)).stdout).toContain('hunter2');

      const done = await runOn(service(), ['redact', 'secret', id], { typed: 'y\n' });
      expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('Redacted versions: 2,') });
      expect((await run('redact', 'secret', id, '--dry-run')).stdout).toBe(
        'This version is already redacted.\n',
      );
      expect((await run('redact', 'secret', all[4]?.id ?? '', '--dry-run')).stderr).toContain(
        'is live. Edit or delete the file first',
      );
    });

    it('points to the right command if a name is probably misspelled', async () => {
      await create('typo', { '/memories/a': '1' });
      const failedStderr = async (...args: string[]) => {
        const { code, stdout, stderr } = await run(...args);
        expect([code, stdout]).toStrictEqual([1, '']);
        return stderr;
      };
      expect(await failedStderr('log', 'typo', '/memories/never')).toBe(
        'memory-service: typo has no version at /memories/never or below it. See: memory-service log typo\n',
      );
      expect(await failedStderr('log', 'typo', '--by', 'nobody')).toBe(
        'memory-service: "nobody" has made no changes in typo. See who has: memory-service log typo\n',
      );
      expect(await failedStderr('keys', 'list', '--tenant', 'nope')).toBe(
        'memory-service: Tenant nope does not exist. See: memory-service tenants list\n',
      );
      for (const args of [
        ['--until', '1h'],
        ['--by', 'anonymous'],
        ['/memories/a', '--operation', 'deleted'],
      ]) {
        expect(await run('log', 'typo', ...args)).toStrictEqual({
          code: 0,
          stdout: '',
          stderr: 'No version matches.\n',
        });
      }
    });

    it('accepts the first characters of a version ID', async () => {
      await create('short', { '/memories/a': 'x', '/memories/b': 'y' });
      const [id = '', other = ''] = (await readHistory('short')).map((version) => version.id);
      // IDs begin with the time.
      const start = id.slice(0, 35).toUpperCase();
      expect((await run('show', 'short', start)).stdout).toContain(`version    ${id}\n`);
      expect((await run('diff', 'short', start, other.slice(0, 30))).code).toBe(0);
      expect((await run('restore', 'short', '--version', start, '--dry-run')).stderr).toBe(
        'Would restore short: nothing to change.\n',
      );
      expect((await run('show', 'short', '00000000-0')).stderr).toBe(
        'memory-service: Version 00000000-0 of short does not exist. See: memory-service log short\n',
      );
      // Simulates two files whose IDs start alike.
      await service().query(
        `UPDATE entries SET version = ('5d1f8f0e-0000-4000-8000-00000000000' || right(path, 1))::uuid, memory_id = version
         WHERE tenant_id = 'short' AND kind = 'file'`,
      );
      expect((await run('show', 'short', '5d1f')).stderr).toBe(
        `memory-service: Several versions of short have an ID that starts with 5d1f:
  5d1f8f0e-0000-4000-8000-00000000000a
  5d1f8f0e-0000-4000-8000-00000000000b
`,
      );
    });

    it('escapes control characters in labels if the output is a terminal', async () => {
      await create('steer');
      const { id } = await json('keys', 'create', '--tenant', 'steer');
      // Keys from earlier versions can have unsafe labels.
      await service().query('UPDATE api_keys SET label = $2 WHERE id = $1', [id, '\u001b[31mred']);
      const list = ['keys', 'list', '--tenant', 'steer'];
      expect((await run(...list)).stdout).toContain('  \u001b[31mred  ');
      expect((await runOn(service(), list, { isTTY: true })).stdout).toContain('  <U+001B>[31mred  ');
    });

    it('manages a tenant whose ID begins with "-"', async () => {
      await service().query(`INSERT INTO tenants (id) VALUES ('-x')`);
      expect((await run('tenants', 'delete', '--yes', '--', '-x')).code).toBe(0);
    });
  },
  { AUTH: 'keys', AUTH_FAILURES_PER_MINUTE: '0' },
);

const program = createProgram({
  version: '1.2.3',
  connectLocally: () => Promise.reject(new Error('no database')),
  openMigrated: () => Promise.reject(new Error('no database')),
  openPlace: () => Promise.reject(new Error('no database')),
  serve: async () => {},
  io: process,
});

it('shows examples in the main help text', () => {
  let help = '';
  program.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  expect(help).toMatch(/\nExamples:\n {2}memory-service serve\n/);
  // Each command has one sentence.
  expect(help).toMatch(/^ {2}diff .* {2}Show a unified diff\n {2}restore /m);
});

it("shows an example in every command's help", () => {
  const leaves = program.commands.flatMap((each) => (each.commands.length > 0 ? each.commands : [each]));
  expect(leaves.length).toBeGreaterThan(20);
  for (const command of leaves) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect([command.name(), help]).toStrictEqual([
      command.name(),
      expect.stringMatching(/Examples?:\n {2}.*(memory-service )/),
    ]);
  }
});

describe('the shell completion', () => {
  const complete = async (words: string[]) => {
    const { bashCompletion } = await import('../../src/core/cli/completion.ts');
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const script = `${bashCompletion(program)}
COMP_WORDS=(memory-service ${quoted}); COMP_CWORD=${words.length}; _memory_service; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script]);
    return stdout.trimEnd().split('\n');
  };

  it.each([
    [['ten'], ['tenants']],
    [['tenants', 'su'], ['suspend']],
    [
      ['tenants', 'list', '--s'],
      ['--search', '--status', '--sort'],
    ],
    [
      ['tenants', 'list', '--sort', ''],
      ['id', 'files', 'bytes', 'used', 'activity'],
    ],
    [['completion', 'z'], ['zsh']],
    [['keys', 'create', '--access', 'read_o'], ['read_only']],
  ])('completes words in bash: %j', async (words, expected) => {
    expect(await complete(words)).toStrictEqual(expected);
  });
});
