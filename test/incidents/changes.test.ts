/**
 * Versions in many tenants: `GET /v1/versions`, `log --all`, and `search --all`.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

interface Page {
  versions: { tenant: string; id: string; path: string; operation: string }[];
  next: string | null;
}

const HEAD =
  'TENANT                TIME                         VERSION                               OPERATION';
const NO_VERSION = 'No version matches.\n';

describeServiceOnOwnDatabase('versions in many tenants', (service) => {
  const admin = useAdmin(service);
  const write = async (tenant: string, input: object) =>
    expect((await service().execute(input, { tenant })).body).toMatchObject({ is_error: false });
  const page = async (query: string, key?: string): Promise<Page> => {
    const response = await admin().call('GET', `/versions?${query}`, key === undefined ? {} : { key });
    expect([response.status, response.text]).toStrictEqual([200, expect.any(String)]);
    return response.body as unknown as Page;
  };
  const describeVersions = ({ versions }: Page) =>
    versions.map((each) => `${each.tenant} ${each.operation} ${each.path}`);
  /** Creates tenants with the label `label`: the first has two versions of a file, and the second has one. */
  const createFilledTenants = async (label: string) => {
    const [one = '', two = '', none = ''] = [1, 2, 3].map((n) => freshTenant(`${label}-${n}`));
    await write(one, cmd.create('/memories/a.md', 'one\n'));
    await write(one, cmd.replace('/memories/a.md', 'one', 'two'));
    await write(two, cmd.create('/memories/b.md', 'three\n'));
    await new Tenants(service().database).create(none);
    return { one, two, none };
  };

  it('lists versions in many tenants by tenant, newest first, with any page size', async () => {
    const { one, two } = await createFilledTenants('sorted');
    const all = [
      `${one} modified /memories/a.md`,
      `${one} created /memories/a.md`,
      `${two} created /memories/b.md`,
    ];
    expect(describeVersions(await page('search=sorted-'))).toStrictEqual(all);
    for (const limit of [1, 2, 3]) {
      const found: string[] = [];
      let after = '';
      for (let i = 0; i < 10; i++) {
        const read = await page(`search=sorted-&since=1h&limit=${limit}${after && `&after=${after}`}`);
        found.push(...describeVersions(read));
        if (read.next === null) break;
        after = read.next;
      }
      expect(found).toStrictEqual(all);
    }
    const [version] = (await page(`tenant=${two}`)).versions;
    expect((await admin().call('GET', `/tenants/${two}/versions/${version?.id}`)).status).toBe(200);
  });

  it('filters versions in many tenants by tenant, metadata, time, source, and operation', async () => {
    const { one, two } = await createFilledTenants('filtered');
    const body = { metadata: { plan: 'pro' } };
    expect((await admin().call('PATCH', `/tenants/${two}`, { body })).status).toBe(200);
    const { key } = await makeKey(service(), { isAdmin: true, source: 'web' });
    const url = `/tenants/${one}/file?path=/memories/c.md`;
    const file = { body: 'x', type: 'text/plain', headers: { 'if-none-match': '*' }, key };
    expect((await admin().call('PUT', url, file)).status).toBe(201);
    const findVersions = async (query: string) => describeVersions(await page(`search=filtered-&${query}`));
    expect(await findVersions(`tenant=${two}&tenant=${freshTenant('missing')}`)).toStrictEqual([
      `${two} created /memories/b.md`,
    ]);
    expect(await findVersions('metadata=plan=pro')).toStrictEqual([`${two} created /memories/b.md`]);
    expect(await findVersions(`except=${one}`)).toStrictEqual([`${two} created /memories/b.md`]);
    expect(await findVersions('source=web')).toStrictEqual([`${one} created /memories/c.md`]);
    expect(await findVersions('operation=modified')).toStrictEqual([`${one} modified /memories/a.md`]);
    expect(await findVersions('since=0s')).toStrictEqual([]);
    expect(await findVersions('until=1h')).toStrictEqual([]);
    for (const query of [
      'metadata={"plan":"pro"}',
      'by=source:web',
      'tenant=a,b',
      'by=a&source=b',
      'since=never',
      'found_by=1',
      'after=x',
    ])
      expect([query, (await admin().call('GET', `/versions?${query}`)).status]).toStrictEqual([query, 400]);
  });

  it("lists only versions in a scoped key's tenants, even if the page position is in another tenant", async () => {
    const { one, two } = await createFilledTenants('scoped');
    const { key } = await makeKey(service(), { isAdmin: true, access: 'read_only', onlyTenants: [two] });
    expect(describeVersions(await page('', key))).toStrictEqual([`${two} created /memories/b.md`]);
    const { next } = await page(`tenant=${one}&limit=1`);
    expect(describeVersions(await page(`after=${next}`, key))).toStrictEqual([
      `${two} created /memories/b.md`,
    ]);
    expect(problem(await admin().call('GET', `/versions?tenant=${one}`, { key }))).toStrictEqual([
      403,
      'outside_scope',
      expect.any(String),
    ]);
  });

  it('prints versions in many tenants if log has tenant options', async () => {
    const { one, two } = await createFilledTenants('printed');
    const { stdout, stderr, code } = await runOn(service(), [
      'log',
      '--tenant-search',
      'printed-',
      '--since',
      '1h',
    ]);
    const lines = stdout.trimEnd().split('\n');
    expect([code, stderr, lines[0]?.startsWith(HEAD)]).toStrictEqual([0, '', true]);
    expect(
      lines
        .slice(1)
        .map((line) => line.split(/\s+/))
        .map(([tenant, , , operation]) => [tenant, operation]),
    ).toStrictEqual([
      [one, 'modified'],
      [one, 'created'],
      [two, 'created'],
    ]);
    const json = await runOn(service(), ['log', '--tenant', two, '--json', '--content']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      tenant: two,
      path: '/memories/b.md',
      content: 'three\n',
    });
    const patch = await runOn(service(), ['log', '--tenant', one, '-p', '--limit', '1']);
    expect(patch.stdout).toContain('\n-one\n+two\n');
    const rest = await runOn(service(), ['log', '--tenant-search', 'printed-', '--except', one, '--json']);
    expect(JSON.parse(rest.stdout)).toMatchObject({ tenant: two });
    const job = '00000000-0000-4000-8000-000000000000';
    expect(await runOn(service(), ['log', '--found-by', job])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(job),
    });
    expect(await runOn(service(), ['log', '--all', '--by', 'nobody'])).toStrictEqual({
      code: 0,
      stdout: '',
      stderr: NO_VERSION,
    });
    expect(await runOn(service(), ['log'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: choose tenants with --tenant'),
    });
    expect(await runOn(service(), ['log', one, '--all'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: name one tenant, or choose tenants with options, not both\n'),
    });
  });

  it('searches only the current files in all tenants if search has --all', async () => {
    const { one, two } = await createFilledTenants('searched');
    await write(two, cmd.create('/memories/c.md', 'a seldom word\n'));
    await write(two, cmd.replace('/memories/c.md', 'seldom', 'Seldom'));
    await write(one, cmd.create('/memories/d.md', 'the seldom word\n'));
    const { stdout, stderr, code } = await runOn(service(), [
      'search',
      '--all',
      '--mode',
      'literal',
      'seldom',
    ]);
    expect([code, stdout]).toStrictEqual([0, `${one} /memories/d.md:1: the seldom word\n`]);
    expect(stderr).toContain('Found 1 hit in 1 file: 1 current, 0 superseded');
    expect(await runOn(service(), ['search', one, 'two'])).toMatchObject({ code: 0 });
    expect(await runOn(service(), ['search', one])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: name a tenant and a text, or search all tenants with --all\n'),
    });
    expect(await runOn(service(), ['search', '/x', 'two'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: "/x" is invalid. A tenant ID is 1 to 128 of the characters'),
    });
  });
});
