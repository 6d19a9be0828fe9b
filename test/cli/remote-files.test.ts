/**
 * Commands on a tenant's memory and history through the admin API: the same output and exit codes as on the database.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { assertInvariants } from '../support/invariants.ts';
import { runOn } from '../support/run-program.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

describeServiceOnOwnDatabase('commands on a memory through the admin API', (service) => {
  const admin = useAdmin(service);
  let url: string;
  beforeAll(async () => {
    url = await admin().app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(() => assertInvariants(service()));
  const runOnDatabase = (...args: string[]) => runOn(service(), args);
  const runRemotely = (args: string[], stdin?: string) =>
    runOn(service(), args, { admin: { url, key: admin().key.key }, ...(stdin !== undefined && { stdin }) });

  /** Runs a read-only command through the admin API and on the database, and returns the common result. */
  const bothWays = async (...args: string[]) => {
    const result = await runRemotely(args);
    expect(result).toStrictEqual(await runOnDatabase(...args));
    return result;
  };

  async function createRemoteTenant(): Promise<string> {
    const tenant = freshTenant();
    await runOnDatabase('tenants', 'create', tenant);
    return tenant;
  }

  const put = (tenant: string, path: string, text: string, ...args: string[]) =>
    runRemotely(['put', tenant, path, ...args], text);

  it('writes, reads, and deletes a file without changing a byte', async () => {
    const tenant = await createRemoteTenant();
    const text = '\uFEFFno line break, and \u0000-free: ÿ🦊'.replace('\u0000', '');
    expect(await put(tenant, '/memories/a', text)).toStrictEqual({
      code: 0,
      stdout: 'File created successfully at: /memories/a\n',
      stderr: '',
    });
    expect((await bothWays('cat', tenant, '/memories/a')).stdout).toBe(text);
    expect((await put(tenant, '/memories/a', 'other')).stderr).toBe(
      'memory-service: /memories/a already exists. Add --force to replace it.\n',
    );
    expect((await put(tenant, '/memories/a', '', '--force', '--json')).stdout).toContain(
      '"action": "replaced"',
    );
    expect((await bothWays('cat', tenant, '/memories/a')).stdout).toBe('');
    expect((await put(tenant, '/memories/b/c', 'new', '--force')).stdout).toBe(
      'File created successfully at: /memories/b/c\n',
    );
    await bothWays('cat', tenant, '/memories/b');
    expect((await runRemotely(['rm', tenant, '/memories/b'])).stderr).toContain('Add --recursive.');
    expect(await runRemotely(['rm', tenant, '/memories/b', '--recursive'])).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect((await bothWays('cat', tenant, '/memories/b/c')).stderr).toBe(
      `memory-service: /memories/b/c does not exist. See: memory-service ls ${tenant}\n`,
    );
  });

  it('lists, searches, and compares files, both current and past', async () => {
    const tenant = await createRemoteTenant();
    await put(tenant, '/memories/d/a', 'one\ntwo\n');
    await put(tenant, '/memories/b', 'x');
    const { stdout } = await bothWays('log', tenant, '--json');
    const [, first] = stdout.split('\n').map((line) => (line === '' ? undefined : JSON.parse(line)));
    await put(tenant, '/memories/d/a', 'one\nthree\n', '--force');
    for (const args of [
      ['ls', tenant],
      ['ls', tenant, '--json'],
      ['ls', tenant, '/memories/d', '--at', first.created_at],
      ['ls', tenant, '/memories/none'],
      ['cat', tenant, '/memories/d/a', '--at', first.created_at],
      ['search', tenant, 'one', '--mode', 'literal', '--at', first.created_at, '--json'],
      ['log', tenant],
      ['log', tenant, '--since', '1h', '--limit', '2', '-p'],
      ['log', tenant, '/memories/d/a', '--json', '--content', '-p'],
      ['log', tenant, '/memories/none'],
      ['log', tenant, '--by', 'nobody'],
      ['log', 'no-such-tenant'],
      ['show', tenant, first.id],
      ['show', tenant, first.id.slice(0, 20), '--json'],
      ['show', tenant, '00000000-0'],
      ['diff', tenant, first.id],
      ['diff', tenant, '/memories', '--at', first.created_at],
      ['diff', tenant, '/memories', '--at', first.created_at, '--json'],
    ]) {
      await bothWays(...args);
    }
    expect((await runRemotely(['diff', tenant, '/memories/d', '--at', first.created_at])).stdout).toBe(
      'diff --git a/memories/d/a b/memories/d/a\n--- a/memories/d/a\n+++ b/memories/d/a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n',
    );
  });

  // Each search on the database starts a thread.
  it('returns the same search results as directly on the database, with each option', {
    tags: 'long',
  }, async () => {
    const tenant = await createRemoteTenant();
    await put(tenant, '/memories/d/a', 'one\nthree\n');
    for (const args of [
      ['search', tenant, 'three'],
      ['search', tenant, 'three', '--json'],
      ['search', tenant, 'none'],
      ['search', tenant, '(', '--mode', 'regex'],
      ['search', tenant, 'one', '--path', '/memories/none'],
    ]) {
      await bothWays(...args);
    }
  });

  it('lists files from several pages', async () => {
    const tenant = await createRemoteTenant();
    await put(tenant, '/memories/d/a', 'x');
    await service().query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
       SELECT $1::text, '/memories/d/f' || n, '/memories/d', 'file', 'text ' || n, id, id, 'created', now()
       FROM generate_series(1, 1200) AS n,
         LATERAL (SELECT memory_version_id(memory_id_prefix(now()), md5(n::text)::uuid) AS id) AS made`,
      [tenant],
    );
    await service().query(
      `UPDATE tenants SET file_count = 1201, last_change_at = now(),
         byte_count = (SELECT sum(size_bytes) FROM entries WHERE tenant_id = $1::text)
       WHERE id = $1::text`,
      [tenant],
    );
    expect((await bothWays('ls', tenant)).stdout.split('\n')).toHaveLength(1 + 1202 + 1);
    expect((await bothWays('log', tenant)).stdout.split('\n')).toHaveLength(1 + 1201 + 1);
    expect((await bothWays('log', tenant, '--limit', '450')).stdout.split('\n')).toHaveLength(1 + 450 + 1);
  });

  it('restores and reverts files after a dry run, with the admin key as the actor', async () => {
    const tenant = await createRemoteTenant();
    await put(tenant, '/memories/a', 'one');
    const [first] = JSON.parse(`[${(await runOnDatabase('log', tenant, '--json')).stdout.trim()}]`);
    await put(tenant, '/memories/a', 'two', '--force');
    const args = ['restore', tenant, '--at', first.created_at];
    expect((await bothWays(...args, '--dry-run')).stderr).toBe(`Would restore ${tenant}: 1 file modified.\n`);
    const { plan } = JSON.parse((await bothWays(...args, '--dry-run', '--json')).stdout);
    expect(await runRemotely([...args, '--plan', plan])).toStrictEqual({
      code: 0,
      stdout: 'M /memories/a\n',
      stderr: `Restored ${tenant}: 1 file modified.\n`,
    });
    const reverted = await runRemotely(['revert', tenant, '--by', 'control plane', '--since', '1h']);
    expect(reverted).toMatchObject({ code: 0, stdout: 'D /memories/a\n' });
    expect(reverted.stderr).toMatch(
      /^Reverted what control plane did in \S+ since \d{4}-\S+Z: 1 file deleted\.\n$/,
    );
    expect(await runRemotely(['restore', tenant, '--version', first.id.slice(0, 30)])).toMatchObject({
      code: 0,
      stdout: 'A /memories/a\n',
    });
    await bothWays('revert', tenant, '--by', 'nobody', '--since', '2020-01-01');
  });

  it('prints search results in the format that agents receive', async () => {
    const tenant = await createRemoteTenant();
    await put(tenant, '/memories/d/a', 'one\ntwo\n');
    expect(await bothWays('search', tenant, 'two')).toStrictEqual({
      code: 0,
      stdout: 'Found 1 file in /memories, the best first:\n/memories/d/a:2: two\n',
      stderr: 'Searched for any of the words or their forms, ignoring case.\n',
    });
  });

  it.each([
    {
      args: ['three'],
      stderr:
        "Searched for any of the words or their forms, ignoring case. Try other words, or --mode regex '(?i)TEXT' to find parts of words.\n",
      stdout:
        'Nothing matches in /memories (1 file searched). Try other or fewer words, or view /memories to see what is there.\n',
    },
    {
      args: ['one', '--mode', 'literal'],
      stderr:
        "Searched for the exact text, case-sensitive. Try --mode regex '(?i)TEXT' to ignore case, or --mode words to find the words or their forms in any order.\n",
      stdout:
        'Nothing matches in /memories (1 file searched). Matching is exact and case-sensitive. Mode `words` is more tolerant.\n',
    },
    {
      args: ['^one', '--mode', 'regex'],
      stderr:
        'Searched for the regular expression in each line, case-sensitive. Begin the expression with (?i) to ignore case, or try --mode words to find the words or their forms in any order.\n',
      stdout:
        'Nothing matches in /memories (1 file searched). The expression is matched line by line, with upper and lower case unless it begins with (?i). Mode words is more tolerant.\n',
    },
  ])(
    'explains how a search with $args matches, and suggests other options if nothing matches',
    async ({ args, stdout, stderr }) => {
      const tenant = await createRemoteTenant();
      await put(tenant, '/memories/d/a', 'One\ntwo\n');
      expect(await runOnDatabase('search', tenant, ...args)).toStrictEqual({ code: 0, stdout, stderr });
    },
  );

  it('redacts a version after a dry run', async () => {
    const tenant = await createRemoteTenant();
    await put(tenant, '/memories/a', 'secret');
    await put(tenant, '/memories/copy', 'secret\nmore');
    const [copy, { id }] = JSON.parse(
      `[${(await runOnDatabase('log', tenant, '--json')).stdout.trim().replaceAll('\n', ',')}]`,
    );
    expect((await runRemotely(['redact', tenant, id, '--yes'])).stderr).toContain('is live');
    expect((await bothWays('redact', tenant, id, '--dry-run')).stderr).toContain('is live');
    await runRemotely(['rm', tenant, '/memories/a']);
    const dryRun = await bothWays('redact', tenant, id, '--dry-run');
    expect(dryRun.stdout).toContain(`  ${copy.id}  /memories/copy (live): 1 of 1 line\n`);
    await bothWays('redact', tenant, id, '--dry-run', '--json');
    const asked = await runOn(service(), ['redact', tenant, id], {
      admin: { url, key: admin().key.key },
      typed: 'n\n',
    });
    expect(asked.stderr).toContain(dryRun.stdout);
    expect(await runRemotely(['redact', tenant, id, '--yes'])).toStrictEqual({
      code: 0,
      stdout:
        'Redacted versions: 1, stored results: 0.\nOther versions that still have a redacted path: 1. Redact them too if it is a secret.\n',
      stderr: '',
    });
    expect((await bothWays('redact', tenant, id, '--dry-run')).stdout).toBe(
      'This version is already redacted.\n',
    );
    expect((await bothWays('show', tenant, id)).stdout).toContain('redacted   ');
  });

  it("redacts a deleted directory's name after a dry run", async () => {
    const tenant = await createRemoteTenant();
    await put(tenant, '/memories/d/f', 'x');
    await bothWays('redact', tenant, '/memories/d', '--dry-run');
    await runRemotely(['rm', tenant, '/memories/d/f']);
    for (const line of (await runOnDatabase('log', tenant, '--json')).stdout.trim().split('\n')) {
      await runRemotely(['redact', tenant, JSON.parse(line).id, '--yes']);
    }
    await runRemotely(['rm', tenant, '/memories/d', '--recursive']);
    expect((await bothWays('redact', tenant, '/memories/d', '--dry-run')).stdout).toBe(
      `Would redact directories: 1, and all stored results of ${tenant}.\n`,
    );
    await bothWays('redact', tenant, '/memories/d', '--dry-run', '--json');
    expect((await runRemotely(['redact', tenant, '/memories/d', '--yes'])).stdout).toBe(
      'Redacted directories: 1, stored results: 0.\n',
    );
  });

  it('lists each version that may contain the redacted text, from several pages', async () => {
    const tenant = await createRemoteTenant();
    await put(tenant, '/memories/a', 'secret');
    const { id } = JSON.parse((await runOnDatabase('log', tenant, '--json')).stdout);
    await runRemotely(['rm', tenant, '/memories/a']);
    await service().query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
       SELECT $1::text, '/memories/f' || n, '/memories', 'file', 'secret' || E'\\n' || n, id, id, 'created', now()
       FROM generate_series(1, 1200) AS n,
         LATERAL (SELECT memory_version_id(memory_id_prefix(now()), md5(n::text)::uuid) AS id) AS made`,
      [tenant],
    );
    await service().query(
      `UPDATE tenants SET last_change_at = now(), (file_count, byte_count) = (
         SELECT count(*), sum(size_bytes) FROM entries WHERE tenant_id = $1::text AND kind = 'file'
       ) WHERE id = $1::text`,
      [tenant],
    );
    const { stdout } = await bothWays('redact', tenant, id, '--dry-run', '--json');
    expect(JSON.parse(stdout).remaining).toHaveLength(1201);
  });

  it('deletes expired files and prunes the history', async () => {
    const tenant = await createRemoteTenant();
    await runOnDatabase('tenants', 'set', tenant, '--ttl-days', '30', '--history-days', '1');
    await put(tenant, '/memories/a', 'one');
    await put(tenant, '/memories/a', 'two', '--force');
    await runRemotely(['rm', tenant, '/memories/a']);
    await put(tenant, '/memories/b', 'three');
    await service().query(
      "UPDATE entries SET accessed_at = now() - interval '31 days', updated_at = now() - interval '31 days' WHERE tenant_id = $1",
      [tenant],
    );
    const found = {
      stdout: 'Would delete 1 file (5 bytes) of 1 tenant.\n',
      stderr: `${tenant}: 1 file, 5 bytes\n`,
    };
    expect(await bothWays('expire', '--dry-run')).toStrictEqual({ code: 0, ...found });
    expect((await bothWays('expire', '--dry-run', '--json')).stdout).toBe(
      '{\n  "tenants": 1,\n  "files": 1,\n  "bytes": 5\n}\n',
    );
    expect((await runRemotely(['expire'])).stdout).toBe('Deleted 1 file (5 bytes) of 1 tenant.\n');
    expect((await bothWays('expire')).stdout).toBe('Deleted 0 files (0 bytes) of 0 tenants.\n');
    await runOnDatabase('tenants', 'set', tenant, '--history-days', '0');
    expect((await runRemotely(['history', 'prune', tenant])).stdout).toMatch(
      /^Deleted 5 versions \(\d\.\d KB of history\)\.\n$/,
    );
    await bothWays('history', 'prune', tenant, '--json');
    expect((await runRemotely(['history', 'prune'])).code).toBe(0);
    await bothWays('history', 'prune');
    await bothWays('history', 'prune', 'no-such-tenant');
    expect((await bothWays('audit', '--tenant', tenant, '--json', '--limit', '1')).stdout).toContain(
      '"action":"pruneTenantHistory"',
    );
  });
});
