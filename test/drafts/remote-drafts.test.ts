/**
 * `drafts` through the admin API: the same output, errors, and exit codes as on the database.
 *
 * @module-tag long-on-pglite
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const a = '/memories/a.md';

describeService('drafts on the command line through the admin API', (service) => {
  const admin = useAdmin(service);
  let url: string;
  beforeAll(async () => {
    url = await admin().app.listen({ port: 0, host: '127.0.0.1' });
  });
  const runOnDatabase = (...args: string[]) => runOn(service(), args);
  const runRemotely = (...args: string[]) => runOn(service(), args, { admin: { url, key: admin().key.key } });
  const write = async (tenant: string, input: object) =>
    expect((await service().execute(input, { tenant })).body).toMatchObject({ is_error: false });

  /** Creates a draft that adds one file and changes another file that the memory changed as well. */
  const createProposed = async () => {
    const tenant = freshTenant('remote-drafts');
    await runOnDatabase('tenants', 'create', tenant);
    await write(tenant, cmd.create(a, 'one\n'));
    const { stdout, code } = await runRemotely('drafts', 'create', tenant, '--title', 'Tidy up');
    expect(code).toBe(0);
    const draft = stdout.trim();
    await write(draft, cmd.replace(a, 'one', 'two'));
    await write(draft, cmd.create('/memories/b.md', 'b\n'));
    await write(tenant, cmd.replace(a, 'one', 'three'));
    const shown = JSON.parse((await runRemotely('drafts', 'show', tenant, draft, '--json')).stdout);
    return { tenant, draft, review: shown.review as string };
  };

  it('prints the same draft lists and comparisons through the admin API as on the database', async () => {
    const { tenant, draft } = await createProposed();
    for (const args of [
      ['list', tenant],
      ['list', tenant, '--state', 'closed', '--json'],
      ['list', tenant, '--json'],
      ['show', tenant, draft],
      ['show', tenant, draft, '--all', '--json'],
      ['diff', tenant, draft],
      ['diff', tenant, draft, a, '--original'],
    ]) {
      const expected = await runOnDatabase('drafts', ...args);
      expect(expected).toMatchObject({ code: 0 });
      expect(await runRemotely('drafts', ...args)).toStrictEqual(expected);
    }
    expect((await runRemotely('drafts', 'diff', tenant, draft, '/memories/b.md')).stdout).toMatch(
      /^diff --git a\/memories\/b.md b\/memories\/b.md\n[\s\S]*\n\+b\n$/,
    );
    expect((await runRemotely('drafts', 'list')).stdout).toContain(draft);
  });

  it('merges a draft through the admin API and records the admin key in closed_by', async () => {
    const { tenant, draft, review } = await createProposed();
    const directory = await mkdtemp(join(tmpdir(), 'remote-drafts-'));
    const file = join(directory, 'merged.md');
    await writeFile(file, 'two and three\n');
    const merged = await runRemotely(
      ...['drafts', 'merge', tenant, draft, '--review', review, '--text', `${a}=${file}`],
    );
    await rm(directory, { recursive: true });
    expect(merged).toMatchObject({ code: 0, stdout: 'M /memories/a.md\nA /memories/b.md\n' });
    expect(merged.stderr).toContain(
      `Merged ${draft}: 2 files changed.\nUndo it with: memory-service revert `,
    );
    expect((await runOnDatabase('cat', tenant, a)).stdout).toBe('two and three\n');
    const closed = JSON.parse((await runOnDatabase('drafts', 'show', tenant, draft, '--json')).stdout);
    expect(closed).toMatchObject({ state: 'merged', closed_by: { type: 'admin_key', id: admin().key.id } });
  });

  it('replaces a memory by a draft and rejects another draft through the admin API', async () => {
    const { tenant, draft, review } = await createProposed();
    const replaced = await runRemotely('drafts', 'replace', tenant, draft, '--review', review, '--json');
    expect(JSON.parse(replaced.stdout)).toMatchObject({
      draft: { id: draft, state: 'replaced' },
      files: [
        { change: 'changed', path: a },
        { change: 'added', path: '/memories/b.md' },
      ],
      directories_made: [],
    });
    const other = await createProposed();
    expect(await runRemotely('drafts', 'reject', other.tenant, other.draft)).toStrictEqual({
      code: 0,
      stdout: '',
      stderr: `Rejected ${other.draft}.\n`,
    });
  });

  it('prints the same errors for draft commands through the admin API as on the database', async () => {
    const { tenant, draft, review } = await createProposed();
    const nowhere = `draft_${'0'.repeat(32)}`;
    for (const [args, message] of [
      [['show', tenant, nowhere], `See: memory-service drafts list ${tenant}\n`],
      [['list', 'no-such-tenant'], 'See: memory-service tenants list\n'],
      [['merge', tenant, draft, '--review', review], 'Resolve each with --take <path>=draft, '],
      [
        ['merge', tenant, draft, '--review', 'unread'],
        'The `review` is not valid: use the `review` of a comparison.',
      ],
      [
        ['merge', tenant, draft, '--review', review, '--take', '/memories/c.md=draft'],
        `/memories/c.md was not changed in the draft. See: memory-service drafts show ${tenant} ${draft}\n`,
      ],
      [['create', nowhere, '--title', 'A draft of a draft'], 'See: memory-service tenants list\n'],
      [['reject', tenant, 'draft_1'], 'Use the ID of a draft from `memory-service drafts list`.\n'],
    ] as const) {
      const expected = await runOnDatabase('drafts', ...args);
      expect(expected.stderr).toContain(message);
      expect(expected.code).not.toBe(0);
      expect(await runRemotely('drafts', ...args)).toStrictEqual(expected);
    }
    await write(tenant, cmd.replace(a, 'three', 'four'));
    const late = ['drafts', 'merge', tenant, draft, '--review', review];
    expect((await runRemotely(...late)).stderr).toBe(
      'memory-service: Changed since the review: /memories/a.md. Nothing was changed. Review it again. See: memory-service drafts show\n',
    );
  });

  it('records in the audit trail whether a draft command used the database or the admin API', async () => {
    const { tenant, draft } = await createProposed();
    await runOnDatabase('drafts', 'reject', tenant, draft);
    const { body } = await admin().call('GET', `/audit?tenant=${tenant}&limit=2`);
    expect(body.events).toMatchObject([
      { action: 'closeDraft', channel: 'command_line', outcome: 'ok', details: { draft } },
      { action: 'createDraft', channel: 'admin_api', outcome: 'ok', details: { draft } },
    ]);
  });
});
