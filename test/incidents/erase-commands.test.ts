/**
 * `erase` on the command line: places, confirmation, receipt, and exit codes.
 *
 * @module-tag long-on-pglite
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

const SECRET = 'card 4929 1234';

describeServiceOnOwnDatabase('erase on the command line', (service) => {
  const run = (...args: string[]) => runOn(service(), args);
  const write = async (tenant: string, input: object) =>
    expect((await service().execute(input, { tenant })).body).toMatchObject({ is_error: false });

  it("prints the text's places but not the text itself, and erases the text only with --yes", async () => {
    const tenant = freshTenant('erase');
    await write(tenant, cmd.create('/memories/a.md', `x\n${SECRET}\n`));
    await write(tenant, cmd.replace('/memories/a.md', 'x', 'y'));
    const [version] = await service().query('SELECT id::text FROM versions WHERE tenant_id = $1', [tenant]);
    const places = `${tenant} /memories/a.md:2\n${tenant} /memories/a.md:2 (version ${version?.id})\n`;
    const changes =
      '1 file, 1 superseded version, 0 places in drafts, 0 paths, 0 past directories, 0 stored results, 0 titles. Read 1 tenant.';

    const unconfirmed = await run('erase', '--tenant', tenant, SECRET);
    expect([unconfirmed.code, unconfirmed.stdout]).toStrictEqual([1, places]);
    expect(unconfirmed.stderr).toContain(`Would change: ${changes}\n`);
    expect(unconfirmed.stderr).toContain('Add --yes to confirm. No text was erased.\n');

    const erased = await run('erase', '--tenant', tenant, '--yes', SECRET);
    expect(erased.code).toBe(0);
    expect(erased.stdout.split('\n').map((line) => line.split(/ +/).slice(0, 3))).toStrictEqual([
      ['TENANT', 'FILES', 'VERSIONS'],
      [tenant, '1', '1'],
      [''],
    ]);
    expect(erased.stderr).toContain(`Changed: ${changes}\n`);
    const [, receipt = ''] = /Receipt ([0-9a-f-]{36})\./.exec(erased.stderr) ?? [];
    const shown = await run('receipts', 'show', receipt);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      receipt: { kind: 'text_erased', tenant: null, erased: { tenants: 1, files: 1, versions: 1 } },
    });
    const file = join(await mkdtemp(join(tmpdir(), 'memory-service-erase-')), 'receipt.json');
    await writeFile(file, shown.stdout);
    const verify = (stdin: string) =>
      runOn(service(), ['receipts', 'verify', file, '--text', '-'], { stdin });
    expect((await verify(`${SECRET}\n`)).stdout).toContain('\nThe receipt is about this text.\n');
    expect(await verify(`${SECRET}5`)).toMatchObject({
      code: 1,
      stderr: 'memory-service: The receipt is not about this text.\n',
    });
    await rm(dirname(file), { recursive: true });
    for (const { stdout, stderr } of [unconfirmed, erased]) expect(stdout + stderr).not.toContain(SECRET);
    expect((await run('cat', tenant, '/memories/a.md')).stdout).toBe('y\n[erased]\n');
  });

  it('states in the receipt how many tenants had the text and how many were searched', async () => {
    const [one, other, third] = [freshTenant('had'), freshTenant('had-not'), freshTenant('had-too')];
    const text = 'a text of two tenants';
    await write(one, cmd.create('/memories/a.md', text));
    await write(other, cmd.create('/memories/a.md', 'clean'));
    await write(third, cmd.create('/memories/a.md', text));
    const selected = [one, other, third].flatMap((tenant) => ['--tenant', tenant]);
    const erased = await run('erase', ...selected, '--yes', '--json', text);
    const shown = await run('receipts', 'show', JSON.parse(erased.stdout).receipt);
    expect(JSON.parse(shown.stdout).receipt).toMatchObject({
      searched: expect.arrayContaining(['3 tenants', 'current files']),
      erased: { tenants: 2, failed_tenants: 0, files: 2 },
    });
  });

  it('warns if the job named by --found-by was cancelled before its end', async () => {
    const tenant = freshTenant('found');
    await write(tenant, cmd.create('/memories/a.md', SECRET));
    const found = (await run('find', '--tenant', tenant, '--no-wait', SECRET)).stdout.trim();
    await run('jobs', 'cancel', found);
    const erased = await run('erase', '--found-by', found, '--yes', SECRET);
    expect([erased.code, erased.stderr]).toStrictEqual([
      0,
      expect.stringContaining(` Job ${found}, which selected the tenants, was cancelled before its end.`),
    ]);
    const finding = await run('find', '--found-by', found, SECRET);
    expect(finding.stderr).toContain(
      ` Job ${found}, which selected the tenants, was cancelled before its end.`,
    );
  });

  it('rejects a text that is too short, and a command without a tenant selection', async () => {
    expect(await run('erase', '--all', 'ab')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Use 3 to 16384 characters, besides white space.'),
    });
    expect(await run('erase', SECRET)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: choose tenants with'),
    });
  });
});
