/**
 * `drafts`: an operator proposes, reviews, merges, replaces, and rejects.
 *
 * @module-tag long-on-pglite
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSnapshot } from '../support/restore-run.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const a = '/memories/a.md';

describeService('drafts on the command line', (service) => {
  const run = (...args: string[]) => runOn(service(), ['drafts', ...args]);
  const write = async (tenant: string, input: object) =>
    expect((await service().execute(input, { tenant })).body).toMatchObject({ is_error: false });
  const start = async () => {
    const tenant = freshTenant('drafts-cli');
    await runOn(service(), ['tenants', 'create', tenant]);
    await write(tenant, cmd.create(a, 'one\n'));
    const { stdout, stderr, code } = await run('create', tenant, '--title', 'Tidy up');
    expect({ stderr, code }).toStrictEqual({ stderr: '', code: 0 });
    return { tenant, draft: stdout.trim() };
  };
  const review = async (tenant: string, draft: string) =>
    (JSON.parse((await run('show', tenant, draft, '--json')).stdout) as { review: string }).review;
  const cat = async (tenant: string) => (await runOn(service(), ['cat', tenant, a])).stdout;

  it('merges a reviewed draft if each conflict is resolved with --take', async () => {
    const { tenant, draft } = await start();
    await write(draft, cmd.replace(a, 'one', 'two'));
    await write(draft, cmd.create('/memories/b.md', 'b\n'));
    await write(tenant, cmd.replace(a, 'one', 'three'));

    const listed = await run('list', tenant);
    expect(listed.stdout).toContain(draft);
    expect(listed.stdout).toContain('Tidy up');
    const shown = await run('show', tenant, draft);
    expect(shown.stdout).toContain('MM /memories/a.md  CONFLICT: both changed the same lines\n');
    expect(shown.stdout).toContain('A  /memories/b.md\n');
    expect(shown.stderr).toContain('2 changed files, 1 conflict. Review: ');
    expect((await run('diff', tenant, draft)).stdout).toContain('\n+b\n');

    const given = ['--review', await review(tenant, draft)];
    expect((await run('merge', tenant, draft, ...given)).code).toBe(1);
    expect(await cat(tenant)).toBe('three\n');
    const merged = await run('merge', tenant, draft, ...given, '--take', `${a}=draft`);
    expect(merged.stdout).toBe('M /memories/a.md\nA /memories/b.md\n');
    expect(merged.stderr).toContain(`Merged ${draft}: 2 files changed.\n`);
    expect(await cat(tenant)).toBe('two\n');
  });

  it("creates a draft from the memory's state at a past time if create has --at", async () => {
    const tenant = freshTenant('drafts-cli');
    await runOn(service(), ['tenants', 'create', tenant]);
    await write(tenant, cmd.create(a, 'one\n'));
    const { at } = await readSnapshot(service(), tenant);
    await write(tenant, cmd.replace(a, 'one', 'two'));
    const made = await run('create', tenant, '--title', 'Before', '--at', at, '--json');
    const draft = JSON.parse(made.stdout) as { id: string; base_at: string };
    expect(draft).toMatchObject({ tenant, title: 'Before', state: 'open', base_at: at, changed_files: 0 });
    expect(await cat(draft.id)).toBe('one\n');
    const wrong = await run('create', tenant, '--title', 'Whenever', '--at', 'whenever');
    expect(wrong.code).not.toBe(0);
    expect((await run('list', tenant)).stdout).not.toContain('Whenever');
  });

  it('resolves a conflict by the text in a local file if merge has --text', async () => {
    const { tenant, draft } = await start();
    await write(draft, cmd.replace(a, 'one', 'two'));
    await write(draft, cmd.create('/memories/plan', 'the plan\n'));
    await write(tenant, cmd.replace(a, 'one', 'three'));
    await write(tenant, cmd.create('/memories/plan/x=y.md', 'x\n'));
    const shown = await run('show', tenant, draft);
    expect(shown.stdout).toContain(
      'A  /memories/plan  CONFLICT: something else is in its place in the memory  BLOCKED BY: /memories/plan/x=y.md\n',
    );
    const directory = await mkdtemp(join(tmpdir(), 'drafts-cli-'));
    const file = join(directory, 'merged.md');
    await writeFile(file, 'two and three\n');
    const given = ['--review', await review(tenant, draft), '--json'];
    const rejected = await run('merge', tenant, draft, ...given, '--text', `${a}=${file}`);
    expect(rejected).toMatchObject({
      code: 1,
      stderr:
        'memory-service: 1 conflict is not resolved: /memories/plan (blocked by: /memories/plan/x=y.md). Nothing was changed. Resolve each with --take <path>=draft, --take <path>=original or --text <path>=<file>.\n',
    });
    const resolved = [...given, '--take', '/memories/plan=draft', '--text'];
    const unread = await run('merge', tenant, draft, ...resolved, `${a}=${file}.not`);
    expect(unread).toMatchObject({ code: 1, stderr: `memory-service: Cannot read ${file}.not: ENOENT.\n` });
    const unknown = await run('merge', tenant, draft, ...resolved, `/memories/b.md=${file}`);
    expect(unknown.stderr).toContain('/memories/b.md was not changed in the draft.');
    expect(await cat(tenant)).toBe('three\n');

    const merged = await run('merge', tenant, draft, ...resolved, `${a}=${file}`);
    expect(merged).toMatchObject({ code: 0, stderr: '' });
    const printed = JSON.parse(merged.stdout);
    expect(printed).toMatchObject({
      draft: { id: draft, tenant, state: 'merged', merged_at: printed.merged_at, expires_at: null },
      merged_at: expect.stringMatching(/^20\d\d-.*Z$/),
      files: [
        { change: 'changed', path: a, from: null },
        { change: 'added', path: '/memories/plan', from: null },
        { change: 'deleted', path: '/memories/plan/x=y.md', from: null },
      ],
    });
    expect(await cat(tenant)).toBe('two and three\n');
    await rm(directory, { recursive: true });
  });

  it('prints the time at which a draft expires in drafts list and drafts show', async () => {
    const { tenant, draft } = await start();
    await service().query(
      "UPDATE entries SET accessed_at = '2035-01-05T10:00:00Z' WHERE tenant_id = $1 AND kind = 'file' RETURNING path",
      [draft],
    );
    const listed = await run('list', tenant);
    const [head, line] = listed.stdout.split('\n');
    expect(head).toMatch(/CREATED +LAST USED +EXPIRES +BY +TITLE$/);
    expect(line).toMatch(/ 2035-01-05T10:00:00Z +2035-02-04T10:00:00Z /);
    expect((await run('show', tenant, draft)).stdout).toContain(
      ', expires 2035-02-04T10:00:00Z if nobody uses it\n',
    );
    await runOn(service(), ['tenants', 'set', tenant, '--draft-days', '0']);
    expect(JSON.parse((await run('list', tenant, '--json')).stdout)).toMatchObject([
      { last_used_at: '2035-01-05T10:00:00.000Z', expires_at: null },
    ]);
  });

  it('replaces the memory by a draft', async () => {
    const { tenant, draft } = await start();
    await write(tenant, cmd.replace(a, 'one', 'three'));
    const replaced = await run('replace', tenant, draft, '--review', await review(tenant, draft));
    expect(replaced.stderr).toContain(`Replaced by ${draft}: 1 file changed.\n`);
    expect(await cat(tenant)).toBe('one\n');
  });

  it('closes a draft after drafts reject, but still lists the draft as closed', async () => {
    const { tenant, draft } = await start();
    expect((await run('reject', tenant, draft)).stderr).toBe(`Rejected ${draft}.\n`);
    expect((await run('show', tenant, draft)).stdout).toContain('rejected: created ');
    expect((await run('list', tenant)).stdout).not.toContain(draft);
    expect((await run('list', tenant, '--state', 'closed')).stdout).toContain(draft);
  });
});
