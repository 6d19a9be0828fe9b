/**
 * The commands that read the history: `log`, `show`, `diff`, `ls --at`, and `cat --at`.
 *
 * @module-tag long-on-pglite
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant, type Service } from '../support/test-service.ts';
import { scratchDirectory } from '../support/transfer-files.ts';

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Times in a column with 27 characters. PGlite's clock has millisecond precision. */
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(?:\d{6}Z|\d{3}Z(?: {3})?)/g;

/** Replaces IDs with `V` and times by `T`, padded to the same length, so that columns stay aligned. */
const maskIds = (text: string) =>
  text.replace(ID, (id) => 'V'.padEnd(id.length, '.')).replace(TIME, 'T'.padEnd(27, '.'));

async function runForOutput(service: Service, args: string[], options?: { isTTY: boolean }): Promise<string> {
  const { stdout, error } = await runCli(service, args, options);
  expect(error).toBeUndefined();
  return stdout.toString();
}

async function runForError(service: Service, ...args: string[]): Promise<string | undefined> {
  const { error, stdout } = await runCli(service, args);
  expect(stdout.toString()).toBe('');
  return error;
}

interface Line {
  id: string;
  path: string | null;
  operation: string;
  created_at: string;
}

async function json(service: Service, ...args: string[]): Promise<(Line & Record<string, unknown>)[]> {
  const text = await runForOutput(service, [...args, '--json']);
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

async function run(service: Service, tenant: string, ...steps: object[]): Promise<void> {
  for (const step of steps) {
    expect((await service.execute(step, { tenant })).body).toMatchObject({ is_error: false });
  }
}

const a = '/memories/d/a.md';
const b = '/memories/b.md';

/** Creates a file that is edited, moved, and deleted, and then another file at the first path. */
async function story(service: Service): Promise<string> {
  const tenant = freshTenant();
  await run(service, tenant, cmd.create(a, 'one\ntwo\n'), cmd.create('/memories/d/x', 'x'));
  await run(service, tenant, cmd.replace(a, 'two', 'three'), cmd.rename(a, b), cmd.delete(b));
  await run(service, tenant, cmd.create(a, 'new'));
  return tenant;
}

/** Marks a version as redacted but keeps its content, so these tests use their own database. */
async function redact(service: Service, tenant: string, id: string): Promise<void> {
  const done = await service.query(
    `UPDATE versions SET path = NULL, content = NULL, splice_start = NULL, splice_length = NULL, content_sha256 = NULL, size_bytes = NULL, redacted_at = '2026-01-02T03:04:05.000006Z',
       redacted_by = '{"type":"operator","name":"ada"}'::jsonb
     WHERE tenant_id = $1::text AND id = $2::text::uuid RETURNING id`,
    [tenant, id],
  );
  expect(done).toHaveLength(1);
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

describeServiceOnOwnDatabase('the log command', (service, kind) => {
  it('prints one line per version, the newest first', async () => {
    const tenant = await story(service());
    expect(
      maskIds(await runForOutput(service(), ['log', tenant])),
    ).toBe(`TIME                         VERSION                               OPERATION       SIZE  BY                    PATH
T..........................  V...................................  created          3 B  anonymous             /memories/d/a.md
T..........................  V...................................  deleted            -  anonymous             /memories/b.md
T..........................  V...................................  renamed         10 B  anonymous             /memories/d/a.md -> /memories/b.md
T..........................  V...................................  modified        10 B  anonymous             /memories/d/a.md
T..........................  V...................................  created          1 B  anonymous             /memories/d/x
T..........................  V...................................  created          8 B  anonymous             /memories/d/a.md
`);
    expect(await runForOutput(service(), ['log', tenant, '/memories'])).toBe(
      await runForOutput(service(), ['log', tenant]),
    );
  });

  it("shortens an actor's name that is wider than the column", async () => {
    const [tenant, mounting] = [await story(service()), 'mounting-tenant-with-a-long-id'];
    await new Tenants(service().database).create(mounting);
    const mount = { name: 'team', tenant, access: 'read_write', instructions: '' } as const;
    await setMount(service().database, mounting, mount);
    await run(service(), mounting, cmd.create('/memories/team/z', 'z'));
    const [, first = ''] = maskIds(await runForOutput(service(), ['log', tenant])).split('\n');
    expect(first).toBe(
      'T..........................  V...................................  created          1 B  anonymous via mount…  /memories/z',
    );
  });

  it("prints each version's patch with `log -p`", async () => {
    const tenant = await story(service());
    const expected = `T..........................  V...................................  created          3 B  anonymous             /memories/d/a.md
diff --git a/memories/d/a.md b/memories/d/a.md
new file mode 100644
--- /dev/null
+++ b/memories/d/a.md
@@ -0,0 +1,1 @@
+new
\\ No newline at end of file

T..........................  V...................................  deleted            -  anonymous             /memories/b.md
diff --git a/memories/b.md b/memories/b.md
deleted file mode 100644
--- a/memories/b.md
+++ /dev/null
@@ -1,2 +0,0 @@
-one
-three

T..........................  V...................................  renamed         10 B  anonymous             /memories/d/a.md -> /memories/b.md
diff --git a/memories/d/a.md b/memories/b.md
rename from memories/d/a.md
rename to memories/b.md

T..........................  V...................................  modified        10 B  anonymous             /memories/d/a.md
diff --git a/memories/d/a.md b/memories/d/a.md
--- a/memories/d/a.md
+++ b/memories/d/a.md
@@ -1,2 +1,2 @@
 one
-two
+three

T..........................  V...................................  created          8 B  anonymous             /memories/d/a.md
diff --git a/memories/d/a.md b/memories/d/a.md
new file mode 100644
--- /dev/null
+++ b/memories/d/a.md
@@ -0,0 +1,2 @@
+one
+two

`;
    expect(maskIds(await runForOutput(service(), ['log', tenant, a, '-p']))).toBe(expected);
  });

  it("lists a file's versions across renames, and tells apart files that had the same path", async () => {
    const tenant = await story(service());
    const first = await json(service(), 'log', tenant, b);
    expect(first.map(({ operation, path }) => [operation, path])).toStrictEqual([
      ['deleted', b],
      ['renamed', b],
      ['modified', a],
      ['created', a],
    ]);
    expect(new Set(first.map(({ memory_id }) => memory_id)).size).toBe(1);
    const both = await json(service(), 'log', tenant, a);
    expect(both.slice(1)).toStrictEqual(first);
    expect(both[0]?.memory_id).not.toBe(first[0]?.memory_id);
    const moved = await json(service(), 'log', tenant, '--path-contains', 'D/A', '--operation', 'renamed');
    expect(moved).toStrictEqual(first.slice(1, 2));
    expect(await json(service(), 'log', tenant, '--by-contains', 'Anony')).toHaveLength(6);
    expect(await json(service(), 'log', tenant, '--by-contains', 'key')).toStrictEqual([]);
    // Includes the version that moved a file out of the directory.
    expect((await json(service(), 'log', tenant, '/memories/d')).map(({ path }) => path)).toStrictEqual([
      a,
      b,
      a,
      '/memories/d/x',
      a,
    ]);
  });

  it('prints versions as JSON with the documented fields', async () => {
    const tenant = freshTenant();
    const block = { type: 'tool_use', id: 'toolu_1', name: 'memory', input: cmd.create(a, 'Grüße\n') };
    await service().execute(block, { tenant, headers: { 'x-request-id': 'request-1' } });
    const [version, ...others] = await json(service(), 'log', tenant);
    expect(others).toStrictEqual([]);
    expect(version).toStrictEqual({
      id: expect.any(String),
      memory_id: expect.any(String),
      operation: 'created',
      path: a,
      content_sha256: 'b1de61b8108f15d9913e0fa2e6371ed737fbe2be84e63a89ca8ae7a370322371',
      content_size_bytes: 8,
      created_at: expect.any(String),
      actor: { type: 'anonymous' },
      request_id: 'request-1',
      tool_use_id: 'toolu_1',
      via_tenant: null,
      source: null,
      draft: null,
      approved_by: null,
      redacted_at: null,
      redacted_by: null,
    });
    expect(await json(service(), 'log', tenant, '--content')).toStrictEqual([
      { ...version, content: 'Grüße\n' },
    ]);
    const [withPatch] = await json(service(), 'log', tenant, '-p');
    expect(withPatch?.patch).toContain('+Grüße\n');
    await run(service(), tenant, cmd.delete(a));
    expect((await json(service(), 'log', tenant, '--content'))[0]).toMatchObject({
      operation: 'deleted',
      content: null,
    });
  });

  it('filters versions by time, actor, and operation, and limits their number', async () => {
    const tenant = await story(service());
    const all = await json(service(), 'log', tenant);
    const log = (...args: string[]) => json(service(), 'log', tenant, ...args);
    const third = String(all[2]?.created_at);
    expect(await log('--since', third)).toStrictEqual(all.slice(0, 3));
    expect(await log('--until', third)).toStrictEqual(all.slice(2));
    expect(await log('--since', third, '--until', third)).toStrictEqual(all.slice(2, 3));
    expect(await log('--since', '1h')).toStrictEqual(all);
    expect(await log('--until', '1h')).toStrictEqual([]);
    expect(await log('--limit', '2')).toStrictEqual(all.slice(0, 2));
    expect(await log('--operation', 'deleted')).toStrictEqual(all.slice(1, 2));
    expect(await log('--by', 'anonymous')).toStrictEqual(all);
    expect(await log('--by', 'operator')).toStrictEqual([]);
  });

  it.runIf(kind === 'postgres')(
    "subtracts durations such as 1h from the database's time, not from the client's",
    async () => {
      const tenant = await story(service());
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 24 * 60 * 60 * 1000 });
      expect(await json(service(), 'log', tenant, '--since', '1h')).toHaveLength(6);
      expect(await runForOutput(service(), ['cat', tenant, a, '--at', '0m'])).toBe('new');
      expect(await runForOutput(service(), ['diff', tenant, '/memories', '--at', '0m'])).toBe('');
      expect(await runForOutput(service(), ['ls', tenant, '--at', '1h'])).toBe(
        '    SIZE  MODIFIED              PATH\n',
      );
    },
  );

  it('searches the current files or the files at a past time', async () => {
    const tenant = await story(service());
    expect(await runForOutput(service(), ['search', tenant, 'new'])).toBe(
      `Found 1 file in /memories, the best first:\n${a}:1: new\n`,
    );
    const at = String((await json(service(), 'log', tenant, '--operation', 'renamed'))[0]?.created_at);
    expect(await runForOutput(service(), ['search', tenant, 'three', '--at', at])).toBe(
      `Found 1 file in /memories, the best first:\n${b}:2: three\n`,
    );
    const pattern = [
      '--mode',
      'regex',
      '^(one|x)$',
      '--path',
      '/memories',
      '--limit',
      '1',
      '--at',
      at,
      '--json',
    ];
    expect(JSON.parse(await runForOutput(service(), ['search', tenant, ...pattern]))).toStrictEqual({
      matches: [{ path: b, line: 1, text: 'one', score: null }],
      more: 1,
    });
    expect(await runForError(service(), 'search', tenant, '(', '--mode', 'regex')).toContain(
      'Invalid `query` parameter: it is not a regular expression in RE2 syntax: missing closing ): `(`',
    );
    expect(await runForError(service(), 'search', tenant, 'x', '--at', '2000-01-01', '--path', b)).toContain(
      `${b} did not exist at that time. See: memory-service ls ${tenant} --at 2000-01-01T00:00:00.000000Z`,
    );
  });

  it('explains why a patch is missing if a version was redacted or pruned', async () => {
    const tenant = await story(service());
    const [, , , edited, , created] = await json(service(), 'log', tenant);
    await redact(service(), tenant, String(created?.id));
    const text = await runForOutput(service(), ['log', tenant, '-p']);
    const lines = maskIds(text).split('\n');
    expect(lines.slice(-2 - 9)).toStrictEqual(
      [
        'T..........................  V...................................  modified        10 B  anonymous             /memories/d/a.md',
        '(no diff: the version before was redacted)',
        '',
        'T..........................  V...................................  created          1 B  anonymous             /memories/d/x',
        'diff --git a/memories/d/x b/memories/d/x',
        'new file mode 100644',
        '--- /dev/null',
        '+++ b/memories/d/x',
        '@@ -0,0 +1,1 @@',
        '+x',
        '\\ No newline at end of file',
        '',
        'T..........................  V...................................  created            -  anonymous             (redacted T.......................... by operator ada)',
        '(no diff: this version was redacted)',
        '',
        '',
      ].slice(-2 - 9),
    );
    expect(await json(service(), 'diff', tenant, String(edited?.id))).toMatchObject([
      { path: a, patch: null },
    ]);
    expect(
      maskIds(await runForOutput(service(), ['show', tenant, String(created?.id)])),
    ).toBe(`version    V...................................
memory     V...................................
operation  created
time       T..........................
by         anonymous
request    V...................................
redacted   T.......................... by operator ada
`);
    const at = String(created?.created_at);
    for (const command of ['cat', 'ls']) {
      expect(await runForError(service(), command, tenant, a, '--at', at)).toBe(
        `${a} did not exist at that time, unless it was the file that has been redacted since. See: memory-service ls ${tenant} --at ${at}`,
      );
    }
    const listed = await runCli(service(), ['ls', tenant, '--at', at]);
    expect(listed.stderr).toBe('Omitted because redacted since: 1 file.\n');

    await service().query('DELETE FROM versions WHERE tenant_id = $1::text AND id = $2::text::uuid', [
      tenant,
      created?.id,
    ]);
    expect(await runForOutput(service(), ['diff', tenant, String(edited?.id)])).toBe(
      `(${a}: no diff: the version before is no longer kept)\n`,
    );
  });

  it('explains why options for `log` are invalid', async () => {
    const tenant = await story(service());
    expect(await runForError(service(), 'log', tenant, '--since', 'yesterday')).toBe(
      `error: option '--since <time>' argument 'yesterday' is invalid. "yesterday" is not a valid time. Use an ISO 8601 time (2026-11-22, 2026-11-22T09:30:00Z, 2026-11-22T09:30:00.123456+01:00; UTC if it has no offset) or a duration before now (30s, 90m, 2h, 3d, 1w).`,
    );
    expect(await runForError(service(), 'log', tenant, '--limit', '0')).toContain(
      'Use a whole number of at least 1.',
    );
    expect(await runForError(service(), 'log', tenant, '--operation', 'moved')).toContain(
      'Allowed choices are created, modified, renamed, deleted.',
    );
    expect(await runForError(service(), 'log', 'nobody')).toBe(
      'Tenant nobody does not exist. See: memory-service tenants list',
    );
  });
});

describeServiceOnOwnDatabase('the show command', (service) => {
  it("prints a version's fields and content", async () => {
    const tenant = await story(service());
    const [, deleted, moved] = await json(service(), 'log', tenant);
    expect(maskIds(await runForOutput(service(), ['show', tenant, String(moved?.id)]))).toBe(
      `version    V...................................
memory     V...................................
operation  renamed
path       /memories/b.md
time       T..........................
by         anonymous
request    V...................................
bytes      10
sha256     ${moved?.content_sha256}

one
three
`,
    );
    const shown = JSON.parse(await runForOutput(service(), ['show', tenant, String(moved?.id), '--json']));
    expect(shown).toStrictEqual({ ...moved, content: 'one\nthree\n' });
    expect(
      JSON.parse(await runForOutput(service(), ['show', tenant, String(deleted?.id), '--json'])),
    ).toStrictEqual({
      ...deleted,
      content: null,
    });
    const none = '00000000-0000-0000-0000-000000000000';
    expect(await runForError(service(), 'show', tenant, none)).toBe(
      `Version ${none} of ${tenant} does not exist. See: memory-service log ${tenant}`,
    );
    expect(await runForError(service(), 'show', tenant, 'x')).toContain('Use the ID of a version');
    expect(await runForError(service(), 'show', freshTenant(), String(moved?.id))).toContain(
      'does not exist. See: memory-service tenants list',
    );
  });
});

describeServiceOnOwnDatabase('the diff command', (service) => {
  it('compares a version with the previous version, or with another version', async () => {
    const tenant = await story(service());
    const [recreated, , moved, edited, , created] = await json(service(), 'log', tenant);
    const patch = `diff --git a/memories/d/a.md b/memories/d/a.md
--- a/memories/d/a.md
+++ b/memories/d/a.md
@@ -1,2 +1,2 @@
 one
-two
+three
`;
    expect(await runForOutput(service(), ['diff', tenant, String(edited?.id)])).toBe(patch);
    expect(await runForOutput(service(), ['diff', tenant, String(created?.id), String(edited?.id)])).toBe(
      patch,
    );
    expect(await runForOutput(service(), ['diff', tenant, String(moved?.id), String(moved?.id)])).toBe('');
    expect(await json(service(), 'diff', tenant, String(recreated?.id), String(moved?.id))).toStrictEqual([
      {
        old_path: a,
        path: b,
        old_version: recreated?.id,
        version: moved?.id,
        patch: `diff --git a/memories/d/a.md b/memories/b.md
rename from memories/d/a.md
rename to memories/b.md
--- a/memories/d/a.md
+++ b/memories/b.md
@@ -1,1 +1,2 @@
-new
\\ No newline at end of file
+one
+three
`,
      },
    ]);
  });

  it('compares a file, a directory, and the whole memory at two times', async () => {
    const tenant = await story(service());
    const [recreated, deleted, moved, , x, created] = await json(service(), 'log', tenant);
    const atOption = (version: Line | undefined) => ['--at', String(version?.created_at)];
    const toOption = (version: Line | undefined) => ['--to', String(version?.created_at)];
    const diff = (...args: string[]) => runForOutput(service(), ['diff', tenant, ...args]);
    const renamed = `diff --git a/memories/d/a.md b/memories/b.md
rename from memories/d/a.md
rename to memories/b.md
--- a/memories/d/a.md
+++ b/memories/b.md
@@ -1,2 +1,2 @@
 one
-two
+three
`;
    for (const path of [a, b, '/memories', '/memories/d']) {
      expect(await diff(path, ...atOption(x), ...toOption(moved))).toBe(renamed);
    }
    // Another file at the path counts as a change to the path.
    expect(await diff('/memories', ...atOption(x))).toBe(`diff --git a/memories/d/a.md b/memories/d/a.md
--- a/memories/d/a.md
+++ b/memories/d/a.md
@@ -1,2 +1,1 @@
-one
-two
+new
\\ No newline at end of file
`);
    expect(await diff('/memories', ...atOption(moved), ...toOption(deleted))).toContain(
      'deleted file mode 100644',
    );
    expect(await diff(a, ...atOption(deleted))).toContain('new file mode 100644');
    expect(await diff(a, ...atOption(recreated))).toBe('');
    expect(
      await json(service(), 'diff', tenant, '/memories', ...atOption(created), ...toOption(x)),
    ).toMatchObject([{ old_path: null, path: '/memories/d/x', old_version: null, version: x?.id }]);
    expect(await runForError(service(), 'diff', tenant, '/memories/none', ...atOption(x))).toBe(
      '/memories/none did not exist at either time.',
    );
  });

  it('prints a patch that git can apply to an exported memory', async () => {
    const tenant = freshTenant();
    const [dir, gone] = ['/memories/é "q"/f', '/memories/gone'];
    await run(
      service(),
      tenant,
      cmd.create(dir, 'a\r\nb'),
      cmd.create(gone, 'x'),
      cmd.create('/memories/e', ''),
    );
    const before = await scratchDirectory();
    await runCli(service(), ['export', tenant, '--output', join(before, 'a.tar')]);
    const [last] = await json(service(), 'log', tenant);
    await run(service(), tenant, cmd.insert(dir, 2, 'c\n'), cmd.rename(dir, '/memories/日本/f'));
    await run(service(), tenant, cmd.delete(gone), cmd.create('/memories/new', '-- a\n++ b\n@@ c\n'));
    await run(service(), tenant, cmd.insert('/memories/e', 0, 'text\n'));
    const patch = await runForOutput(service(), [
      'diff',
      tenant,
      '/memories',
      '--at',
      String(last?.created_at),
    ]);
    execFileSync('tar', ['-xf', 'a.tar'], { cwd: before });
    execFileSync('git', ['apply', '--whitespace=nowarn', '-'], {
      cwd: before,
      input: patch,
      env: { ...process.env, GIT_CEILING_DIRECTORIES: before },
    });
    for (const path of ['/memories/日本/f', '/memories/new', '/memories/e']) {
      expect(execFileSync('cat', [`.${path}`], { cwd: before }).toString()).toBe(
        await runForOutput(service(), ['cat', tenant, path]),
      );
    }
    expect(execFileSync('ls', ['memories'], { cwd: before }).toString().split('\n').sort()).toStrictEqual([
      '',
      'e',
      'new',
      '日本',
    ]);
  });

  it('compares large texts that have no common lines', async () => {
    const tenant = freshTenant();
    const numbers = (word: string) => Array.from({ length: 20_000 }, (_, i) => `${word} ${i}\n`).join('');
    await run(
      service(),
      tenant,
      cmd.create(a, numbers('old')),
      cmd.replace(a, numbers('old'), numbers('new')),
    );
    const [edited] = await json(service(), 'log', tenant);
    const patch = await runForOutput(service(), ['diff', tenant, String(edited?.id)]);
    const lines = patch.split('\n');
    expect(lines.slice(3, 5)).toStrictEqual(['@@ -1,20000 +1,20000 @@', '-old 0']);
    expect(lines).toHaveLength(4 + 40_000 + 1);
  });

  it('rejects arguments for `diff` that contradict each other', async () => {
    const tenant = await story(service());
    const id = String((await json(service(), 'log', tenant))[0]?.id);
    for (const [args, message] of [
      [[id, '--at', '1h'], 'error: --at and --to work only with a path, not with a version'],
      [[a], 'error: to compare a path, give --at <time>'],
      [[a, id, '--at', '1h'], 'error: give two versions, or a path with --at'],
    ] as const) {
      expect(await runForError(service(), 'diff', tenant, ...args)).toBe(message);
    }
  });

  it('compares with an empty memory for a time before the tenant existed', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(b, 'new\n'));
    const created = `diff --git a/memories/b.md b/memories/b.md
new file mode 100644
--- /dev/null
+++ b/memories/b.md
@@ -0,0 +1,1 @@
+new
`;
    for (const path of ['/memories', b]) {
      expect(await runForOutput(service(), ['diff', tenant, path, '--at', '1h'])).toBe(created);
    }
    expect(await runForOutput(service(), ['diff', tenant, '/memories', '--at', '2h', '--to', '1h'])).toBe('');
    expect(await runForError(service(), 'diff', tenant, b, '--at', '2h', '--to', '1h')).toBe(
      '/memories/b.md did not exist at either time.',
    );
    expect(await runForError(service(), 'cat', tenant, b, '--at', '1h')).toContain(
      'did not exist at that time.',
    );
    expect(await runForError(service(), 'restore', tenant, '--at', '1h')).toMatch(
      /^The history of \S+ is complete only since \S+Z\. Choose a later time\.$/,
    );
    // Missing entries cause the same error as before.
    await service().query('UPDATE tenants SET history_since = now() WHERE id = $1', [tenant]);
    const [version] = await json(service(), 'log', tenant);
    expect(
      await runForError(service(), 'diff', tenant, '/memories', '--at', String(version?.created_at)),
    ).toContain(`The history of ${tenant} is complete only since `);
  });
});

describeServiceOnOwnDatabase('a past time on the command line', (service) => {
  it('shows past files with `ls` and `cat`', async () => {
    const tenant = await story(service());
    const [, deleted, moved, edited, x] = await json(service(), 'log', tenant);
    const atOption = (version: Line | undefined) => ['--at', String(version?.created_at)];
    const maskTimes = (text: string) =>
      text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'T'.padEnd(20, '.'));
    expect(maskTimes(await runForOutput(service(), ['ls', tenant, ...atOption(moved)]))).toBe(
      `    SIZE  MODIFIED              PATH
    10 B  T...................  /memories/b.md
       -  T...................  /memories/d/
     1 B  T...................  /memories/d/x
`,
    );
    expect(maskTimes(await runForOutput(service(), ['ls', tenant, '/memories/d/a.md', ...atOption(x)]))).toBe(
      `    SIZE  MODIFIED              PATH
     8 B  T...................  /memories/d/a.md
`,
    );
    expect(
      JSON.parse(await runForOutput(service(), ['ls', tenant, b, ...atOption(moved), '--json'])),
    ).toStrictEqual([{ path: b, kind: 'file', bytes: 10, modified_at: expect.stringMatching(/Z$/) }]);
    expect(await runForOutput(service(), ['cat', tenant, a, ...atOption(x)])).toBe('one\ntwo\n');
    expect(await runForOutput(service(), ['cat', tenant, a, ...atOption(edited)])).toBe('one\nthree\n');
    expect(await runForOutput(service(), ['cat', tenant, a, '--at', '2999-01-01'])).toBe('new');
    for (const [args, message] of [
      [
        ['cat', tenant, b, ...atOption(deleted)],
        `${b} did not exist at that time. See: memory-service ls ${tenant} --at ${deleted?.created_at}`,
      ],
      [
        ['cat', tenant, '/memories/d', ...atOption(deleted)],
        `/memories/d was a directory at that time. List it with: memory-service ls ${tenant} /memories/d --at ${deleted?.created_at}`,
      ],
      [
        ['ls', tenant, '/memories/none', ...atOption(deleted)],
        `/memories/none did not exist at that time. See: memory-service ls ${tenant} --at ${deleted?.created_at}`,
      ],
    ] as const) {
      expect(await runForError(service(), ...args)).toBe(message);
    }
  });
});

describeServiceOnOwnDatabase('a terminal', (service) => {
  const steered = '\u001b[31mred\u001b[0m \u202eleft\r\n';

  it('shows diffs in color, and escapes control characters', async () => {
    vi.stubEnv('TERM', 'xterm-256color');
    // Node.js disables colors for terminals in CI.
    vi.stubEnv('CI', undefined);
    vi.stubEnv('FORCE_COLOR', undefined);
    vi.stubEnv('NO_COLOR', undefined);
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(a, 'one\n'), cmd.replace(a, 'one\n', `-- two\n${steered}`));
    const [edited] = await json(service(), 'log', tenant);
    const diff = (options?: { isTTY: boolean }) =>
      runForOutput(service(), ['diff', tenant, String(edited?.id)], options);
    const bold = (text: string) => `\u001b[1m${text}\u001b[22m\n`;
    expect(await diff({ isTTY: true })).toBe(
      [
        bold('diff --git a/memories/d/a.md b/memories/d/a.md'),
        bold('--- a/memories/d/a.md'),
        bold('+++ b/memories/d/a.md'),
        '\u001b[36m@@ -1,1 +1,2 @@\u001b[39m\n',
        '\u001b[31m-one\u001b[39m\n',
        '\u001b[32m+-- two\u001b[39m\n',
        '\u001b[32m+<U+001B>[31mred<U+001B>[0m <U+202E>left<U+000D>\u001b[39m\n',
      ].join(''),
    );
    const log = await runForOutput(service(), ['log', tenant, '-p', '--limit', '1'], { isTTY: true });
    expect(log.startsWith('\u001b[33m20')).toBe(true);
    expect(log.split('\n')[0]?.endsWith(`${a}\u001b[39m`)).toBe(true);
    expect(await runForOutput(service(), ['show', tenant, String(edited?.id)], { isTTY: true })).toContain(
      '\n\n-- two\n<U+001B>[31mred<U+001B>[0m <U+202E>left<U+000D>\n',
    );

    vi.stubEnv('NO_COLOR', '1');
    const plain = await diff({ isTTY: true });
    expect(plain).not.toContain('\u001b');
    expect(await diff()).toBe(plain.replace('<U+001B>[31mred<U+001B>[0m <U+202E>left<U+000D>\n', steered));
  });

  it('escapes control characters in the output from `cat`, except with `--raw`', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(a, steered));
    const [created] = await json(service(), 'log', tenant);
    const isTTY = true;
    const escaped = '<U+001B>[31mred<U+001B>[0m <U+202E>left<U+000D>\n';
    expect(await runForOutput(service(), ['cat', tenant, a], { isTTY })).toBe(escaped);
    expect(
      await runForOutput(service(), ['cat', tenant, a, '--at', String(created?.created_at)], { isTTY }),
    ).toBe(escaped);
    expect(await runForOutput(service(), ['cat', tenant, a, '--raw'], { isTTY })).toBe(steered);
    expect(await runForOutput(service(), ['cat', tenant, a])).toBe(steered);
  });
});
