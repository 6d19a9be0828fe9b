/**
 * Pages that start at a position which a caller has changed. The test walks over all lists, so that it includes new
 * ones.
 *
 * @module-tag long-on-pglite
 */
import { beforeAll, expect, it } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
}

interface Document {
  paths: Record<string, { get?: { parameters?: (Parameter | { $ref: string })[] } }>;
  components: { parameters: Record<string, Parameter> };
}

const encode = (position: unknown) => Buffer.from(JSON.stringify(position)).toString('base64url');
const decode = (cursor: string): unknown => JSON.parse(Buffer.from(cursor, 'base64url').toString());

const ID = '00000000-0000-4000-8000-000000000000';
/** Positions that no list has, although some have the right fields. */
const NOWHERE = [
  { time: 'x', id: ID },
  { time: '28.13.2026', id: ID },
  { time: 'now', id: ID },
  { time: 'infinity', id: ID },
  { time: '2026-11-28T00:00:00.000000Z', id: '\0' },
  { sort: 'id', key: 1, id: '\0' },
  { order: 'created', key: 1, id: '\0' },
  { tenant: '\0', version: ID },
  { skip: 1.5 },
  {},
  [],
  [[]],
  true,
  { id: {} },
  '\0',
  '\ud800',
  [['\0']],
  { $gt: '' },
];
/** Values for one place in a valid position. */
const CHANGED = ['\0', '\ud800', '', 'x', '13/28/2026 1', 'infinity', -1, 1.5, 1e300, null, {}, []];

/** Yields the position with each of its values replaced by each value in `CHANGED`. */
function* changes(position: unknown): Generator<unknown> {
  if (typeof position !== 'object' || position === null) {
    yield* CHANGED;
    return;
  }
  for (const [key, value] of Object.entries(position)) {
    for (const changed of changes(value)) {
      yield Array.isArray(position)
        ? Object.assign([...position], { [key]: changed })
        : { ...position, [key]: changed };
    }
  }
}

describeService('a list in the admin API', (service) => {
  const admin = useAdmin(service);
  const tenant = freshTenant('cursor');
  const values: Record<string, string> = { tenant };
  let lists: string[];

  /** Returns a request path with a limit of one item. */
  const request = (list: string, after?: string) => {
    const path = list.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
    const query = new URLSearchParams({ limit: '1', ...(after !== undefined && { after }) });
    return `${path}${path.includes('?') ? '&' : '?'}${query}`;
  };

  beforeAll(async () => {
    const { paths, components } = admin().app.swagger() as unknown as Document;
    const resolveParameter = (given: Parameter | { $ref: string }) =>
      '$ref' in given ? (components.parameters[given.$ref.split('/').at(-1) ?? ''] as Parameter) : given;
    for (const path of ['/memories/a', '/memories/b', '/memories/d/c']) {
      await service().execute(cmd.create(path, 'one\n'), { tenant });
      await service().execute(cmd.replace(path, 'one', 'two'), { tenant });
    }
    for (const label of ['one', 'two']) {
      await admin().call('POST', '/keys', { body: { tenant, label } });
      await admin().call('POST', '/kept-out', { body: { text: `kept out ${label}`, label } });
      await admin().call('POST', `/tenants/${tenant}/kept-out`, {
        body: { text: `kept out ${label}`, label },
      });
      values.id = String((await admin().call('POST', '/find', { body: { text: 'two' } })).body.id);
      values.draft = String(
        (await admin().call('POST', `/tenants/${tenant}/drafts`, { body: { title: label } })).body.id,
      );
    }
    for (const path of ['/memories/a', '/memories/b', '/memories/x'])
      await service().execute(cmd.create(path, 'three\n'), { tenant: values.draft ?? '' });
    const { body } = await admin().call('GET', `/tenants/${tenant}/versions`);
    values.version = (body.versions as { id: string }[])[0]?.id ?? '';
    values.job = values.id ?? '';
    const webhook = await admin().call('POST', '/webhooks', { body: { tenant, url: 'https://127.0.0.1' } });
    values.webhook = String(webhook.body.id);
    for (let i = 0; i < 2; i++) await admin().call('POST', `/webhooks/${values.webhook}/test`);
    lists = Object.entries(paths).flatMap(([path, { get }]) => {
      const parameters = (get?.parameters ?? []).map(resolveParameter);
      if (!parameters.some(({ name }) => name === 'after')) return [];
      const needed = parameters.filter(
        (each) => each.in === 'query' && each.required && each.name !== 'after',
      );
      const query = needed.map(
        ({ name }) => `${name}=${name === 'at' || name === 'since' ? '1h' : '/memories'}`,
      );
      return [`${path.replace('/v1', '')}${query.length > 0 ? `?${query.join('&')}` : ''}`];
    });
  });

  it('returns 400 if the after parameter is not a position in the list', async () => {
    expect(lists.length).toBeGreaterThan(14);
    const others: string[] = [];
    for (const list of lists) {
      for (const position of NOWHERE) {
        const { status, body } = await admin().call('GET', request(list, encode(position)));
        if (status !== 400) others.push(`${list} ${JSON.stringify(position)}: ${status} ${body.code}`);
      }
    }
    expect(others).toStrictEqual([]);
  });

  it('returns 200 or 400, never 500, if a value in the after parameter was changed', async () => {
    const failures: string[] = [];
    let followed = 0;
    for (const list of lists) {
      const { body } = await admin().call('GET', request(list));
      if (typeof body.next !== 'string') continue;
      followed++;
      for (const position of changes(decode(body.next))) {
        const { status } = await admin().call('GET', request(list, encode(position)));
        if (status !== 400 && status !== 200) failures.push(`${list} ${JSON.stringify(position)}: ${status}`);
      }
    }
    expect(failures).toStrictEqual([]);
    expect(followed).toBeGreaterThan(8);
  });
});
