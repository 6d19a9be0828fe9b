/** @module-tag long-on-pglite */
import { beforeAll, expect, it } from 'vitest';
import { readAll, sdk } from '../support/memory-stores.ts';
import { describeService } from '../support/test-service.ts';

describeService(
  'the Memory Stores API with invalid input',
  (service) => {
    let store = '';
    let memory = { id: '', memory_version_id: '', content_sha256: '' };
    beforeAll(async () => {
      const { beta } = sdk(service(), 'any');
      ({ id: store } = await beta.memoryStores.create({ name: 'x', metadata: { a: 'b' } }));
      memory = await beta.memoryStores.memories.create(store, { path: '/a', content: 'x' });
    });

    async function request(
      method: 'GET' | 'POST' | 'DELETE' | 'PUT',
      url: string,
      body?: unknown,
      type?: string,
    ) {
      const answer = await service().app.inject({
        method,
        url: `/v1/memory_stores${url}`,
        ...(body === undefined
          ? {}
          : {
              payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
              headers: { 'content-type': type ?? 'application/json' },
            }),
      });
      expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      return { status: answer.statusCode, ...answer.json().error };
    }

    const path = (value: unknown) => ({ path: value, content: '' });
    const INVALID: [name: string, method: 'GET' | 'POST' | 'DELETE', url: string, body?: unknown][] = [
      ['no body', 'POST', ''],
      ['a name that is not a string', 'POST', '', { name: 1 }],
      ['a name with a control character', 'POST', '', { name: 'a\u0007' }],
      ['an unknown field', 'POST', '', { name: 'x', color: 'red' }],
      ['metadata that is not a string', 'POST', '', { name: 'x', metadata: { a: 1 } }],
      ['metadata with an empty key', 'POST', '', { name: 'x', metadata: { '': 'x' } }],
      ['metadata with a long key', 'POST', '', { name: 'x', metadata: { ['k'.repeat(65)]: 'x' } }],
      ['metadata with a long value', 'POST', '', { name: 'x', metadata: { a: 'x'.repeat(513) } }],
      [
        '17 pairs of metadata',
        'POST',
        '',
        { name: 'x', metadata: Object.fromEntries([...'abcdefghijklmnopq'].map((k) => [k, ''])) },
      ],
      ['metadata with a pair named __proto__', 'POST', '', '{"name":"x","metadata":{"__proto__":"x"}}'],
      ['a change of a pair named __proto__', 'POST', '/:store', '{"metadata":{"__proto__":"x"}}'],
      ['an empty update', 'POST', '/:store/memories/:memory', {}],
      ['an update of null', 'POST', '/:store/memories/:memory', { path: null, content: null }],
      [
        'an update of a precondition alone',
        'POST',
        '/:store/memories/:memory',
        { precondition: { type: 'content_sha256', content_sha256: '0'.repeat(64) } },
      ],
      ['a description with U+0000', 'POST', '', { name: 'x', description: 'a\0' }],
      ['half a character', 'POST', '', '{"name":"\\ud83d"}'],
      ['an array', 'POST', '', []],
      ['no JSON', 'POST', '', '{'],
      ['invalid UTF-8', 'POST', '', Buffer.from([0x22, 0xff, 0x22])],
      ['an empty limit', 'GET', '?limit='],
      ['an empty hash', 'DELETE', '/:store/memories/:memory?expected_content_sha256='],
      ['limit 0', 'GET', '?limit=0'],
      ['a negative limit', 'GET', '?limit=-1'],
      ['a limit that is no number', 'GET', '?limit=ten'],
      ['two limits', 'GET', '?limit=1&limit=2'],
      ['a cursor that is none', 'GET', '?page=abc'],
      [
        'a cursor of another list',
        'GET',
        `/:store/memories?page=${Buffer.from('["stores","2026-11-22T00:00:00Z","a"]').toString('base64url')}`,
      ],
      [
        'a cursor with U+0000',
        'GET',
        `/:store/memories?page=${Buffer.from('["memories","\\u0000"]').toString('base64url')}`,
      ],
      ['a key with U+0000', 'GET', '/:store/memory_versions?api_key_id=%00'],
      ['a service account with U+0000', 'GET', '/:store/memory_versions?service_account_id=a%00'],
      ['a time that is none', 'GET', '?created_at[gte]=yesterday'],
      ['a time without an offset', 'GET', '/:store/memory_versions?created_at%5Blte%5D=2026-11-22T00:00:00'],
      ['a time in the year 0', 'GET', '?created_at[gte]=0000-12-31T23:59:59Z'],
      [
        'a time in the year 0, by its offset',
        'GET',
        '/:store/memory_versions?created_at[lte]=0001-01-01T00:00:00%2B01:00',
      ],
      [
        'a time in the year 10000',
        'GET',
        '/:store/memory_versions?created_at[gte]=9999-12-31T23:59:59-01:00',
      ],
      [
        'a cursor in the year 0',
        'GET',
        `?page=${Buffer.from('["stores","0000-01-01T00:00:00.000000Z","a"]').toString('base64url')}`,
      ],
      ['a flag that is none', 'GET', '?include_archived=maybe'],
      ['a path without a slash', 'POST', '/:store/memories', path('a')],
      ['an empty path', 'POST', '/:store/memories', path('')],
      ['the root', 'POST', '/:store/memories', path('/')],
      ['an empty name', 'POST', '/:store/memories', path('/a//b')],
      ['a slash at the end', 'POST', '/:store/memories', path('/a/')],
      ['a dot', 'POST', '/:store/memories', path('/a/./b')],
      ['two dots', 'POST', '/:store/memories', path('/../b')],
      ['two dots in disguise', 'POST', '/:store/memories', path('/%2e%2e/b')],
      ['a backslash', 'POST', '/:store/memories', path('/a\\b')],
      ['a control character', 'POST', '/:store/memories', path('/a\tb')],
      ['a format character', 'POST', '/:store/memories', path('/a\u200bb')],
      ['a line separator', 'POST', '/:store/memories', path('/a\u2028b')],
      ['a path that is not in Unicode Normalization Form C', 'POST', '/:store/memories', path('/a\u0301')],
      ['1,016 bytes', 'POST', '/:store/memories', path(`${`/${'x'.repeat(250)}`.repeat(4)}/12345678901`)],
      ['21 names', 'POST', '/:store/memories', path('/a'.repeat(21))],
      ['no content', 'POST', '/:store/memories', { path: '/b' }],
      ['content null', 'POST', '/:store/memories', { path: '/b', content: null }],
      ['content with U+0000', 'POST', '/:store/memories', { path: '/b', content: '\0' }],
      [
        'more than the limit of the store',
        'POST',
        '/:store/memories',
        { path: '/b', content: 'x'.repeat(102_401) },
      ],
      ['an update beyond the limit', 'POST', '/:store/memories/:memory', { content: 'x'.repeat(102_401) }],
      ['a view that is not known', 'GET', '/:store/memories?view=all'],
      ['a depth that is not known', 'GET', '/:store/memories?depth=2'],
      ['a prefix without a slash at the end', 'GET', '/:store/memories?path_prefix=/a'],
      ['a prefix without one at the start', 'GET', '/:store/memories?path_prefix=a/'],
      ['a prefix that leaves the store', 'GET', '/:store/memories?path_prefix=/../'],
      ['a hash in capitals', 'DELETE', `/:store/memories/:memory?expected_content_sha256=${'A'.repeat(64)}`],
      [
        'a precondition without a hash',
        'POST',
        '/:store/memories/:memory',
        { content: 'y', precondition: { type: 'content_sha256' } },
      ],
      [
        'a precondition of another type',
        'POST',
        '/:store/memories/:memory',
        { content: 'y', precondition: { type: 'etag', content_sha256: '0'.repeat(64) } },
      ],
      ['an operation that is not known', 'GET', '/:store/memory_versions?operation=renamed'],
    ];

    it.each(INVALID)(
      'rejects an invalid request to the Memory Stores API: %s',
      async (_, method, url, body) => {
        const at = url.replace(':store', store).replace(':memory', memory.id);
        const { status, type, message } = await request(method, at, body);
        expect({ status, type }).toStrictEqual({ status: 400, type: 'invalid_request_error' });
        expect(message).not.toBe('');
      },
    );

    it('returns 404 for a missing store, memory, or version', async () => {
      const urls = [
        '/none',
        '/a%2Fb',
        `/${'x'.repeat(200)}`,
        '/none/memories',
        '/none/memory_versions',
        `/${store}/memories/mem_1`,
      ];
      for (const url of [
        ...urls,
        `/${store}/memories/${memory.memory_version_id}`,
        `/${store}/memory_versions/${memory.id}`,
        `/${store}/other`,
      ]) {
        expect(await request('GET', url)).toMatchObject({ status: 404, type: 'not_found_error' });
      }
      const created = await request('POST', '/none/memories', { path: '/a', content: '' });
      expect(created).toMatchObject({ status: 404, type: 'not_found_error' });
      expect(await request('PUT', `/${store}`, {})).toMatchObject({
        status: 405,
        type: 'invalid_request_error',
      });
    });

    it('rejects a body if it has another media type, is too large, or is nested too deeply', async () => {
      const text = await request('POST', '', 'name=x', 'application/x-www-form-urlencoded');
      expect(text).toMatchObject({ status: 415, type: 'invalid_request_error' });
      const large = await request('POST', '', `{"name":"${'x'.repeat(7_000_000)}"}`);
      expect(large).toMatchObject({ status: 413, type: 'request_too_large' });
      const deep = await request('POST', '', `{"name":${'['.repeat(50)}${']'.repeat(50)}}`);
      expect(deep).toMatchObject({ status: 400, type: 'invalid_request_error' });
    });

    it('ignores unknown query parameters and a superfluous empty body', async () => {
      expect((await request('GET', '?beta=true&color=red&page=')).status).toBe(200);
      const { id } = await sdk(service(), 'any').beta.memoryStores.create({ name: 'x' });
      expect((await request('POST', `/${id}/archive`, '')).status).toBe(200);
      expect((await request('DELETE', `/${id}`, '')).status).toBe(200);
    });

    it('explains in the error why an empty update or a metadata key is rejected', async () => {
      expect(await request('POST', `/${store}/memories/${memory.id}`, {})).toMatchObject({
        message: 'The request is not valid: the body has neither `content` nor `path`.',
      });
      expect(await request('POST', '', '{"name":"x","metadata":{"__proto__":"x"}}')).toMatchObject({
        message: 'metadata: must not have a pair named __proto__.',
      });
    });

    it('stores metadata under keys such as constructor and toString', async () => {
      const metadata = { constructor: 'a', prototype: 'b', toString: 'c', hasOwnProperty: 'd', toJSON: 'e' };
      const { memoryStores } = sdk(service(), 'any').beta;
      const { id } = await memoryStores.create({ name: 'x', metadata });
      expect((await memoryStores.retrieve(id)).metadata).toStrictEqual(metadata);
      const changed = await memoryStores.update(id, { metadata: { valueOf: 'f', toJSON: null } });
      const { toJSON: _, ...kept } = metadata;
      expect(changed.metadata).toStrictEqual({ ...kept, valueOf: 'f' });
      await memoryStores.delete(id);
    });

    it('leaves the store unchanged after all rejected requests', async () => {
      const { memoryStores } = sdk(service(), 'any').beta;
      expect(await memoryStores.retrieve(store)).toMatchObject({ name: 'x', metadata: { a: 'b' } });
      expect(await readAll(memoryStores.memories.list(store))).toMatchObject([
        { path: '/a', content_sha256: memory.content_sha256 },
      ]);
      expect((await readAll(memoryStores.memoryVersions.list(store))).length).toBe(1);
    });
  },
  { MAX_FILE_BYTES: '102400' },
);
