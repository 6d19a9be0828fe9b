/**
 * `drafts`: an operator proposes, reviews, merges, replaces and closes.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { runOn } from '../support/program.ts';
import { describeService, freshTenant } from '../support/service.ts';
import { cmd } from '../support/table.ts';

const a = '/memories/a.md';

describeService('drafts', (service) => {
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

  it('merge takes what the review showed, and settles conflicts', async () => {
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

  it('replace makes the memory what the draft is', async () => {
    const { tenant, draft } = await start();
    await write(tenant, cmd.replace(a, 'one', 'three'));
    const replaced = await run('replace', tenant, draft, '--review', await review(tenant, draft));
    expect(replaced.stderr).toContain(`Replaced by ${draft}: 1 file changed.\n`);
    expect(await cat(tenant)).toBe('one\n');
  });

  it('close rejects a draft', async () => {
    const { tenant, draft } = await start();
    expect((await run('close', tenant, draft)).stderr).toBe(`Closed ${draft}.\n`);
    expect((await run('show', tenant, draft)).stdout).toContain('rejected: made ');
    expect((await run('list', tenant)).stdout).not.toContain(draft);
    expect((await run('list', tenant, '--state', 'closed')).stdout).toContain(draft);
  });
});
