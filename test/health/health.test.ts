/**
 * Findings about a memory, by the admin API and the command line.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { MemoryHealth } from '../../src/features/health/memory-health.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import {
  describeService,
  describeServiceOnOwnDatabase,
  freshTenant,
  type Service,
} from '../support/test-service.ts';

const TOKEN = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
const LONG =
  'The deploy runs on the staging cluster first, and the team lead approves each step before it continues';

/** Creates a tenant with files, by path below the root. */
async function createTenant(service: Service, files: Record<string, string>, label = 'health') {
  const tenant = freshTenant(label);
  await new Tenants(service.database).create(tenant);
  for (const [name, text] of Object.entries(files)) {
    const { is_error } = await service.execute(cmd.create(`/memories/${name}`, text), { tenant });
    expect(is_error).toBe(false);
  }
  return tenant;
}

/** Sets when a file was last written and last read, in days before now. */
const setAges = (service: Service, tenant: string, name: string, written: number, read: number) =>
  service.query(
    `UPDATE entries SET updated_at = now() - make_interval(days => $3::integer),
       accessed_at = now() - make_interval(days => $4::integer) WHERE tenant_id = $1::text AND path = $2::text`,
    [tenant, `/memories/${name}`, written, read],
  );

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

describeService('the health of a memory', (service) => {
  const admin = useAdmin(service);
  /** Returns the findings with items, as `kind: path (detail)`. */
  const findings = async (tenant: string) => {
    const { status, body } = await admin().call('GET', `/tenants/${tenant}/health`);
    expect(status).toBe(200);
    const all = body.findings as { kind: string; items: { path: string; detail: string }[] }[];
    return all.flatMap(({ kind, items }) => items.map(({ path, detail }) => `${kind}: ${path} (${detail})`));
  };

  it('finds files that were not read since they were written 31 days ago, or not used for 91 days', async () => {
    const tenant = await createTenant(service(), {
      fresh: 'a b c',
      old: 'd e f',
      read: 'g h i',
      stale: 'j k l',
    });
    await setAges(service(), tenant, 'fresh', 29, 29);
    await setAges(service(), tenant, 'old', 31, 40);
    await setAges(service(), tenant, 'read', 31, 30);
    await setAges(service(), tenant, 'stale', 100, 91);
    expect(await findings(tenant)).toStrictEqual([
      `unread: /memories/old (written ${daysAgo(31)})`,
      `stale: /memories/stale (last used ${daysAgo(91)})`,
    ]);
  });

  it('finds equal files, and files with almost the same words, but no files with other facts', async () => {
    const tenant = await createTenant(service(), {
      'a.md': `${LONG}.`,
      'b.md': `${LONG}.`,
      'c.md': `# ${LONG.toUpperCase()}!\n`,
      'd.md': `${LONG} to production.`,
      'e.md': 'The port of the test database is 5433.',
      'f.md': 'The port of the test database is 5434.',
      'g.md': '',
      'h.md': '',
      'i.md': '発注は毎週月曜日に行う。担当は田中さん。',
      'j.md': '発注は毎週月曜日に行う、担当は田中さん',
    });
    expect(await findings(tenant)).toStrictEqual([
      'duplicate: /memories/b.md (/memories/a.md)',
      'similar: /memories/c.md (/memories/a.md)',
      'similar: /memories/d.md (/memories/a.md)',
      'similar: /memories/j.md (/memories/i.md)',
    ]);
  });

  it('finds secrets by kind, and shows no part of a secret', async () => {
    const tenant = await createTenant(service(), {
      'key.md': `Token: ${TOKEN}\nOther: ${TOKEN}`,
      'masked.md': 'Token: [REDACTED:github_token]',
    });
    expect(await findings(tenant)).toStrictEqual(['secret: /memories/key.md (github_token)']);
    const { text } = await admin().call('GET', `/tenants/${tenant}/health`);
    expect(text).not.toContain('ghp_');
  });

  it('finds links to missing files, but no links to files, directories, mounts, URLs, and code', async () => {
    const mounted = await createTenant(service(), {}, 'mounted');
    const tenant = await createTenant(service(), {
      'projects/a.md': [
        '[b](b.md) [up](../index.md#top) [gone](../gone.md) [out](../../../x.md) [encoded](my%20file.md) [web](https://example.com/x.md)',
        '[mail](mailto:a@example.com) [part](#part) [root](/etc/passwd) `[code](no.md)`',
        '[ref]: ./missing.md',
        'See /memories/projects, /memories/projects/b.md. And /memories/lost.md! https://example.com/memories/x',
        'Team: /memories/team/rules.md',
      ].join('\n'),
      'projects/b.md': '```\n[code](no.md)\n```',
      'projects/my file.md': 'my file',
      'index.md': 'index',
    });
    const mount = { name: 'team', tenant: mounted, access: 'read_only', instructions: '' } as const;
    await setMount(service().database, tenant, mount);
    expect(await findings(tenant)).toStrictEqual([
      'broken_link: /memories/projects/a.md (/memories/gone.md)',
      'broken_link: /memories/projects/a.md (/memories/projects/missing.md)',
      'broken_link: /memories/projects/a.md (/memories/lost.md)',
    ]);
  });

  it('finds files longer than a context, and directories with more than 200 entries', async () => {
    const tenant = await createTenant(service(), {
      'full.md': 'x'.repeat(16_000),
      'large.md': 'y'.repeat(16_001),
    });
    await service().query(
      `SELECT memory_create($1, '/memories/' || i, '', gen_random_uuid(), true, '{}', 'c' || i, 'r', 'result', 0, 0, true)
       FROM generate_series(1, 198) AS i`,
      [tenant],
    );
    const large = 'large: /memories/large.md (16001 characters)';
    expect(await findings(tenant)).toStrictEqual([large]);
    await service().execute(cmd.create('/memories/more.md', ''), { tenant });
    const crowded = 'crowded: /memories (201 entries)';
    expect(await findings(tenant)).toStrictEqual([large, crowded]);
    const body = { settings: { max_context_chars: 16_001 } };
    expect((await admin().call('PATCH', `/tenants/${tenant}`, { body })).status).toBe(200);
    expect(await findings(tenant)).toStrictEqual([crowded]);
  });

  it('counts all items, and lists the first 100', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 102 }, (_, i) => [`${String(i).padStart(3, '0')}.md`, 'the same text']),
    );
    const tenant = await createTenant(service(), files);
    const { body } = await admin().call('GET', `/tenants/${tenant}/health`);
    const [duplicate] = (body.findings as { kind: string; total: number; items: unknown[] }[]).filter(
      ({ total }) => total > 0,
    );
    expect(duplicate).toMatchObject({
      kind: 'duplicate',
      title: 'Same content as another file',
      total: 101,
      command: `memory-service drafts create ${tenant} --title 'Delete duplicates'`,
    });
    expect(duplicate?.items).toHaveLength(100);
    expect(duplicate?.items[99]).toStrictEqual({ path: '/memories/100.md', detail: '/memories/000.md' });
  });

  it('examines a part of a memory beyond the limit', async () => {
    const tenant = await createTenant(service(), { a: 'same', b: 'same', c: 'same' });
    const health = new MemoryHealth();
    const { signal } = new AbortController();
    const row = { id: tenant, mounts: [] };
    const examine = (max: { entries: number; bytes: number }) =>
      health.examine(service().database, row, { maxContextChars: 0, signal, max });
    const byEntries = await examine({ entries: 2, bytes: 1000 });
    expect(byEntries.examined).toBe(2);
    expect(byEntries.findings.report(tenant)[2]).toMatchObject({ kind: 'duplicate', total: 1 });
    expect((await examine({ entries: 9, bytes: 1000 })).examined).toBe(3);
    await health.close();
  });

  it('examines only the tenants of a limited admin key', async () => {
    const [own, hidden] = [
      await createTenant(service(), { a: 'same', b: 'same' }),
      await createTenant(service(), { c: 'same' }),
    ];
    const { key } = await makeKey(service(), { isAdmin: true, access: 'read_only', onlyTenants: [own] });
    const { status, body } = await admin().call('GET', `/tenants/${own}/health`, { key });
    expect([status, body.files, body.examined]).toStrictEqual([200, 2, 2]);
    expect(await findings(own)).toStrictEqual(['duplicate: /memories/b (/memories/a)']);
    const missing = freshTenant('missing');
    const responses = await Promise.all(
      [hidden, missing].map(async (id) =>
        problem(await admin().call('GET', `/tenants/${id}/health`, { key })),
      ),
    );
    expect(responses).toStrictEqual([
      [403, 'outside_scope', 'This admin key is not valid for this tenant.'],
      [403, 'outside_scope', 'This admin key is not valid for this tenant.'],
    ]);
  });

  it('prints the findings with a command for each', async () => {
    const tenant = await createTenant(service(), {
      ...Object.fromEntries(
        Array.from({ length: 12 }, (_, i) => [`copy-${10 + i}.md`, 'Lives in Lyon now.']),
      ),
      "it's.md": "See [it](it''s.md).",
    });
    expect(await runOn(service(), ['health', tenant])).toStrictEqual({
      code: 0,
      stderr: 'Examined 13 files.\n',
      stdout: `Same content as another file: 11
  /memories/copy-11.md (/memories/copy-10.md)
  /memories/copy-12.md (/memories/copy-10.md)
  /memories/copy-13.md (/memories/copy-10.md)
  /memories/copy-14.md (/memories/copy-10.md)
  /memories/copy-15.md (/memories/copy-10.md)
  /memories/copy-16.md (/memories/copy-10.md)
  /memories/copy-17.md (/memories/copy-10.md)
  /memories/copy-18.md (/memories/copy-10.md)
  /memories/copy-19.md (/memories/copy-10.md)
  /memories/copy-20.md (/memories/copy-10.md)
  and 1 more
  > memory-service drafts create ${tenant} --title 'Delete duplicates'

With a link to a missing file: 1
  /memories/it's.md (/memories/it''s.md)
  > memory-service log ${tenant} '/memories/it'\\'''\\''s.md'
`,
    });
    const { stdout } = await runOn(service(), ['health', tenant, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ tenant, files: 13, examined: 13 });
    expect(JSON.parse(stdout).findings).toHaveLength(8);
  });

  it('rejects a command line with a tenant and --all, or with neither', async () => {
    for (const args of [['acme', '--all'], []])
      expect(await runOn(service(), ['health', ...args])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('error: name a tenant, or use --all'),
      });
  });
});

describeServiceOnOwnDatabase('the health of all memories', (service) => {
  it('prints one line for each tenant', async () => {
    const one = await createTenant(service(), { a: 'same text', b: 'same text', c: '[a](gone)' }, 'a');
    const two = await createTenant(service(), {}, 'b');
    const { stdout, stderr, code } = await runOn(service(), ['health', '--all']);
    expect({ stderr, code }).toStrictEqual({ stderr: '', code: 0 });
    expect(stdout).toBe(
      `TENANT  FILES  UNREAD  STALE  DUPLICATE  SIMILAR  LARGE  SECRET  BROKEN LINK  CROWDED
${one.padEnd(6)}      3       0      0          1        0      0       0            1        0
${two.padEnd(6)}      0       0      0          0        0      0       0            0        0
`,
    );
    const json = await runOn(service(), ['health', '--all', '--json']);
    expect(json.stdout.split('\n')[0]).toBe(
      `{"tenant":"${one}","files":3,"examined":3,"unread":0,"stale":0,"duplicate":1,"similar":0,"large":0,"secret":0,"broken_link":1,"crowded":0}`,
    );
  });
});
