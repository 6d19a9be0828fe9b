/** @module-tag long-on-pglite */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { problem, useAdmin } from '../support/admin.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/);
const ONE = '"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"';
const TWO = '"3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"';

describeService(
  'files in the admin API',
  (service) => {
    const admin = useAdmin(service);
    const newTenant = async () => {
      const id = freshTenant('files');
      await new Tenants(service().database).create(id);
      const at = `/tenants/${id}`;
      return {
        id,
        at,
        get: (path: string, headers = {}) => admin().call('GET', `${at}${path}`, { headers }),
        post: (path: string, body?: object) => admin().call('POST', `${at}${path}`, body ? { body } : {}),
        put: (path: string, body: string | Buffer, headers: Record<string, string>, type = 'text/plain') =>
          admin().call('PUT', `${at}/file?path=${encodeURIComponent(path)}`, { body, type, headers }),
        remove: (query: string, headers: Record<string, string> = {}) =>
          admin().call('DELETE', `${at}/file?${query}`, { headers }),
      };
    };
    const NEW = { 'if-none-match': '*' };
    const ANY = { 'if-match': '*' };

    it('returns 404 for a missing tenant or path, and 409 if the path is a directory', async () => {
      const { get, put } = await newTenant();
      await put('/memories/d/f.md', 'one', NEW);
      const missing = freshTenant('missing');
      const at = '2020-01-01T00:00:00Z';
      for (const query of ['', `&at=${at}`]) {
        const answer = await admin().call('GET', `/tenants/${missing}/file?path=/memories/f.md${query}`);
        expect(problem(answer)).toStrictEqual([404, 'not_found', `Tenant ${missing} does not exist.`]);
      }
      expect(problem(await get('/file?path=/memories/none'))).toStrictEqual([
        404,
        'not_found',
        '/memories/none does not exist.',
      ]);
      for (const path of ['/memories', '/memories/d']) {
        expect(problem(await get(`/file?path=${path}`))).toStrictEqual([
          409,
          'rejected',
          `${path} is a directory.`,
        ]);
      }
    });

    it('creates, replaces, and deletes a file only if the precondition holds', async () => {
      const { get, put, remove } = await newTenant();
      const path = '/memories/d/é #1.md';
      const file = `/file?path=${encodeURIComponent(path)}`;
      const created = await put(path, 'one', NEW);
      expect([created.status, created.headers.etag, created.body]).toStrictEqual([
        201,
        ONE,
        { path, action: 'created', message: `File created successfully at: ${path}` },
      ]);
      expect(problem(await put(path, 'other', NEW))).toStrictEqual([
        412,
        'precondition_failed',
        `${path} already exists.`,
      ]);
      const read = await get(file);
      expect([read.status, read.text, read.headers.etag, read.headers['content-type']]).toStrictEqual([
        200,
        'one',
        ONE,
        'text/plain; charset=utf-8',
      ]);
      expect((await get(file, { 'if-none-match': ONE })).status).toBe(304);
      expect((await get(file, { 'if-none-match': TWO })).status).toBe(200);

      const replaced = await put(path, 'two', { 'if-match': `${TWO}, ${ONE}` });
      expect([replaced.status, replaced.headers.etag, replaced.body]).toStrictEqual([
        200,
        TWO,
        { path, action: 'replaced', message: `File replaced successfully at: ${path}` },
      ]);
      const stale = [412, 'precondition_failed', `${path} has changed since it was read. Read it again.`];
      expect(problem(await put(path, 'three', { 'if-match': ONE }))).toStrictEqual(stale);
      expect(problem(await remove(file.slice(6), { 'if-match': ONE }))).toStrictEqual(stale);
      expect((await get(file)).text).toBe('two');
      expect((await put(path, '', ANY)).status).toBe(200);
      expect((await get(file)).text).toBe('');

      expect((await remove(file.slice(6), ANY)).body).toStrictEqual({
        path,
        action: 'deleted',
        message: `Successfully deleted ${path}`,
      });
      expect((await put(path, 'x', ANY)).status).toBe(412);
      expect(problem(await get(file))[0]).toBe(404);
    });

    it('requires a precondition for every change to a file', async () => {
      const { put, remove, get } = await newTenant();
      const required = [
        428,
        'precondition_required',
        'The change requires a precondition: If-Match with the ETag of the file that you read, If-Match: * for any content, or If-None-Match: * for a new file.',
      ];
      expect(problem(await put('/memories/a', 'x', {}))).toStrictEqual(required);
      expect(problem(await remove('path=/memories/a'))).toStrictEqual(required);
      expect((await put('/memories/a', 'x', { ...NEW, ...ANY })).status).toBe(400);
      expect((await put('/memories/a', 'x', { 'if-none-match': ONE })).status).toBe(400);
      expect((await get('/tree')).body.entries).toStrictEqual([]);
    });

    it('accepts only one of two simultaneous writes with the same If-Match', async () => {
      const { put, get } = await newTenant();
      await put('/memories/a', 'one', NEW);
      const both = await Promise.all(
        ['left', 'right'].map((text) => put('/memories/a', text, { 'if-match': ONE })),
      );
      expect(both.map(({ status }) => status).sort()).toStrictEqual([200, 412]);
      const winner = both[0]?.status === 200 ? 'left' : 'right';
      expect((await get('/file?path=/memories/a')).text).toBe(winner);
    });

    it("applies the memory tool's limits, path rules, and secret masking to files", async () => {
      const { id, put, get, remove } = await newTenant();
      await new Tenants(service().database).set(id, { maxFileBytes: 10, maxFiles: 2, secrets: 'mask' });
      expect(problem(await put('/memories/a', 'x'.repeat(11), NEW))).toStrictEqual([
        409,
        'rejected',
        '/memories/a would exceed the maximum file size of 10 bytes.',
      ]);
      expect((await put('/memories/a', 'a\0b', NEW)).status).toBe(409);
      expect((await put('/memories/a', Buffer.from([0xff]), NEW)).body.code).toBe('invalid_utf8');
      expect((await put('/memories/a', '{}', NEW, 'application/json')).body.detail).toBe(
        'Send the body as Content-Type: text/plain.',
      );
      expect((await put('/elsewhere', 'x', NEW)).status).toBe(400);
      expect((await put('/memories/../etc', 'x', NEW)).status).toBe(400);
      expect((await put('/memories', 'x', NEW)).status).toBe(412);
      expect((await put('/memories/d/b', '\uFEFFx\r\n', NEW)).status).toBe(201);
      expect(Buffer.from((await get('/file?path=/memories/d/b')).text)).toStrictEqual(
        Buffer.from('\uFEFFx\r\n'),
      );
      expect((await put('/memories/d', 'x', NEW)).status).toBe(412);
      expect((await put('/memories/d/b/c', 'x', NEW)).body.detail).toBe(
        '/memories/d/b is a file, so nothing can be below it.',
      );
      expect(problem(await get('/file?path=/memories/d'))).toStrictEqual([
        409,
        'rejected',
        `/memories/d is a directory.`,
      ]);
      expect((await remove('path=/memories/d', ANY)).status).toBe(409);
      expect((await remove('path=/memories&recursive=true', ANY)).body.code).toBe('rejected');
      expect((await remove('path=/memories/d&recursive=true', ANY)).status).toBe(200);
      expect((await remove('path=/memories/d&recursive=true', ANY)).status).toBe(404);
      await new Tenants(service().database).set(id, { maxFileBytes: null });
      const masked = await put('/memories/s', 'key AKIAQYLPMN5HFIQR7XYA end', NEW);
      const stored = await get('/file?path=/memories/s');
      expect(stored.text).not.toContain('AKIAQYLPMN5HFIQR7XYA');
      expect(stored.headers.etag).toBe(masked.headers.etag);
    });

    it("returns over_quota if a new or growing file exceeds the tenant's limits", async () => {
      const { id, put } = await newTenant();
      await put('/memories/a', 'one', NEW);
      await new Tenants(service().database).set(id, { maxBytes: 5 });
      const full = (needed: number) => [
        409,
        'over_quota',
        `Tenant ${id} uses 3 of 5 bytes, and the change needs ${needed} more.`,
      ];
      expect(problem(await put('/memories/b', 'four', NEW))).toStrictEqual(full(4));
      expect(problem(await put('/memories/a', 'sixsix', ANY))).toStrictEqual(full(3));
      await new Tenants(service().database).set(id, { maxBytes: null, maxFiles: 1 });
      expect((await put('/memories/b', 'x', NEW)).body.code).toBe('over_quota');
    });

    it('lists the tree page by page, as it is now and as it was at a past time', async () => {
      const { put, get, remove } = await newTenant();
      await put('/memories/a/b', 'one', NEW);
      await put('/memories/a-b', 'two2', NEW);
      const then = (await get('/versions?limit=1')).body.versions as { created_at: string }[];
      const at = String(then[0]?.created_at);
      await remove('path=/memories/a/b', ANY);
      const entry = (path: string, size: number | null) => ({
        path,
        kind: size === null ? 'directory' : 'file',
        size_bytes: size,
        modified_at: TIME,
        version: null,
        memory_id: null,
      });
      expect((await get('/tree')).body).toStrictEqual({
        path: '/memories',
        at: null,
        entries: [entry('/memories/a', null), entry('/memories/a-b', 4)],
        next: null,
        redacted: null,
      });
      const ID = expect.stringMatching(/^[0-9a-f-]{36}$/);
      const past = [entry('/memories/a', null), entry('/memories/a-b', 4), entry('/memories/a/b', 3)].map(
        (each) => (each.kind === 'file' ? { ...each, version: ID, memory_id: ID } : each),
      );
      expect((await get(`/tree?at=${at}`)).body).toStrictEqual({
        path: '/memories',
        at,
        entries: past,
        next: null,
        redacted: 0,
      });
      const paths: unknown[] = [];
      for (let after = ''; ; ) {
        const { body } = await get(`/tree?at=${at}&limit=1${after}`);
        paths.push(...(body.entries as { path: string }[]).map(({ path }) => path));
        if (body.next === null) break;
        after = `&after=${body.next}`;
      }
      expect(paths).toStrictEqual(['/memories/a', '/memories/a-b', '/memories/a/b']);
      expect((await get(`/file?path=/memories/a/b&at=${at}`)).text).toBe('one');
      expect(problem(await get('/tree?path=/memories/none'))).toStrictEqual([
        404,
        'not_found',
        `/memories/none does not exist.`,
      ]);
      // The tenant did not exist yet.
      expect((await get('/tree?at=2020-01-01')).body.entries).toStrictEqual([]);
      expect((await get('/tree?at=yesterday')).status).toBe(400);
      expect((await get('/tree?path=/etc')).body.detail).toBe(
        'The query parameter path is not valid: Path must start with /memories, got: /etc',
      );
    });

    it("lists one directory's entries, directories first, for now and for a past time", async () => {
      const { put, get, remove } = await newTenant();
      const paths = ['a/deep/er/x', 'a/y', 'a-b/z', 'a0', 'm', 'z'];
      for (const path of paths) await put(`/memories/${path}`, 'four', NEW);
      const versions = (await get('/versions?limit=1')).body.versions as { created_at: string }[];
      const at = String(versions[0]?.created_at);
      await remove('path=/memories/a&recursive=true', ANY);
      await remove('path=/memories/m', ANY);
      await put('/memories/n', 'later', NEW);
      const ID = expect.stringMatching(/^[0-9a-f-]{36}$/);
      const entry = (name: string, size: number | null, isPast = false) => ({
        path: `/memories/${name}`,
        kind: size === null ? 'directory' : 'file',
        size_bytes: size,
        modified_at: TIME,
        version: isPast ? ID : null,
        memory_id: isPast ? ID : null,
      });
      expect((await get('/directory')).body).toStrictEqual({
        path: '/memories',
        at: null,
        next: null,
        entries: [entry('a-b', null), entry('a0', 4), entry('n', 5), entry('z', 4)],
      });
      expect((await get(`/directory?at=${at}`)).body).toStrictEqual({
        path: '/memories',
        at,
        next: null,
        entries: [
          entry('a', null),
          entry('a-b', null),
          entry('a0', 4, true),
          entry('m', 4, true),
          entry('z', 4, true),
        ],
      });
      const below = (await get(`/directory?at=${at}&path=/memories/a`)).body;
      expect(below.entries).toStrictEqual([entry('a/deep', null), entry('a/y', 4, true)]);

      for (const query of ['', `?at=${at}`]) {
        const [directory, tree] = [await get(`/directory${query}`), await get(`/tree${query}`)];
        expect(tree.body.entries).toStrictEqual(expect.arrayContaining(directory.body.entries as object[]));
      }

      const pages = async (query: string) => {
        const found: string[] = [];
        for (let after = ''; ; ) {
          const { body } = await get(`/directory?limit=1${query}${after}`);
          found.push(...(body.entries as { path: string }[]).map(({ path }) => path.slice(10)));
          if (body.next === null) return found;
          after = `&after=${body.next}`;
        }
      };
      expect(await pages('')).toStrictEqual(['a-b', 'a0', 'n', 'z']);
      expect(await pages(`&at=${at}`)).toStrictEqual(['a', 'a-b', 'a0', 'm', 'z']);
      expect(await pages(`&at=${at}&from=/memories/m`)).toStrictEqual(['m', 'z']);
      expect(await pages(`&at=${at}&from_directory=/memories/a-b`)).toStrictEqual(['a-b', 'a0', 'm', 'z']);
      // A start outside the directory is ignored.
      expect(await pages(`&at=${at}&path=/memories/a-b&from=/memories/a/y`)).toStrictEqual(['a-b/z']);

      const gone = [404, 'not_found', '/memories/a does not exist.'];
      expect(problem(await get('/directory?path=/memories/a'))).toStrictEqual(gone);
      expect((await get('/directory?path=/memories/z')).status).toBe(404);
      expect((await get(`/directory?path=/memories/n&at=${at}`)).status).toBe(404);
      expect((await get('/directory?at=2020-01-01')).body.entries).toStrictEqual([]);
      for (const query of [
        'at=yesterday',
        'limit=0',
        'limit=1001',
        'after=e30',
        'from=/etc',
        'from_directory=/etc',
        'depth=1',
      ]) {
        expect([query, (await get(`/directory?${query}`)).status]).toStrictEqual([query, 400]);
      }
    });

    it('counts files and bytes below each directory, for now and for a past time', async () => {
      const { put, get, remove } = await newTenant();
      for (const path of ['a/deep/er/x', 'a/y', 'a-b/z', 'm']) await put(`/memories/${path}`, 'four', NEW);
      const versions = (await get('/versions?limit=1')).body.versions as { created_at: string }[];
      const at = String(versions[0]?.created_at);
      await remove('path=/memories/a/y', ANY);
      const size = (name: string, files: number, bytes: number) => ({
        path: `/memories/${name}`,
        files,
        size_bytes: bytes,
      });
      expect((await get('/directory/sizes')).body).toStrictEqual({
        path: '/memories',
        at: null,
        files: 3,
        size_bytes: 12,
        next: null,
        redacted: null,
        directories: [size('a', 1, 4), size('a-b', 1, 4)],
      });
      expect((await get(`/directory/sizes?at=${at}`)).body).toStrictEqual({
        path: '/memories',
        at,
        files: 4,
        size_bytes: 16,
        next: null,
        redacted: 0,
        directories: [size('a', 2, 8), size('a-b', 1, 4)],
      });
      expect((await get(`/directory/sizes?at=${at}&path=/memories/a`)).body).toMatchObject({
        files: 2,
        size_bytes: 8,
        directories: [size('a/deep', 1, 4)],
      });
      let files = 0;
      for (let next: unknown = '', parts = 0; next !== null; parts++) {
        const { body } = await get(`/directory/sizes?limit=1&at=${at}${next && `&after=${next}`}`);
        files += Number(body.files);
        next = body.next;
        expect(parts).toBeLessThan(10);
      }
      expect(files).toBe(4);
      expect((await get('/directory/sizes?path=/memories/none')).status).toBe(404);
      expect((await get('/directory/sizes?after=e30')).status).toBe(400);
    });

    it('moves a directory and moves it back, and rejects moves to occupied or invalid paths', async () => {
      const { put, get, post } = await newTenant();
      await put('/memories/a/b', 'one', NEW);
      await put('/memories/c', 'two', NEW);
      const move = (from: string, to: string) => post('/move', { from, to });
      expect((await move('/memories/a', '/memories/d/e')).body).toStrictEqual({
        from: '/memories/a',
        path: '/memories/d/e',
        message: 'Successfully renamed /memories/a to /memories/d/e',
      });
      expect((await get('/file?path=/memories/d/e/b')).text).toBe('one');
      expect((await get('/versions?limit=1')).body.versions).toMatchObject([
        { operation: 'renamed', path: '/memories/d/e/b', actor: { label: 'control plane' } },
      ]);
      expect((await move('/memories/d/e', '/memories/a')).status).toBe(200);
      expect((await get('/file?path=/memories/a/b')).text).toBe('one');

      expect(problem(await move('/memories/a', '/memories/c'))).toStrictEqual([
        409,
        'rejected',
        '/memories/c already exists. Nothing was overwritten.',
      ]);
      expect(problem(await move('/memories/none', '/memories/x'))).toStrictEqual([
        404,
        'not_found',
        '/memories/none does not exist.',
      ]);
      expect((await move('/memories/a', '/memories/a/x')).body.detail).toBe(
        'Cannot move /memories/a to /memories/a/x, which is inside it.',
      );
      expect((await move('/memories', '/memories/x')).body.detail).toBe(
        'The directory /memories itself cannot be moved.',
      );
      const tooDeep = `/memories${'/x'.repeat(20)}`;
      expect(problem(await move('/memories/a', tooDeep))).toStrictEqual([
        409,
        'rejected',
        `The path would be too long or too deep: ${tooDeep}/b`,
      ]);
      expect((await move('/memories/a', '/memories/c/x')).body.detail).toBe(
        '/memories/c is a file, so nothing can be below it.',
      );
      expect((await move('/etc', '/memories/x')).status).toBe(400);
      expect((await post('/move', { from: '/memories/a' })).status).toBe(400);
      expect((await get('/file?path=/memories/c')).text).toBe('two');
    });

    it('finds files by path and content', async () => {
      const { put, get } = await newTenant();
      await put('/memories/a.md', 'first\nThe Quick brown fox\nlast', NEW);
      await put('/memories/quick.md', '100% _other_', NEW);
      await put('/memories/z.md', 'nothing', NEW);
      const found = async (query: string) => {
        const { text, ...matches } = (await get(`/search?${query}`)).body;
        expect(text).toEqual(expect.any(String));
        return matches;
      };
      expect((await get('/search?query=quick')).body.text).toBe(
        'Found 2 files in /memories, the best first:\n/memories/quick.md (the path matches)\n/memories/a.md:2: The Quick brown fox',
      );
      const score = expect.any(Number);
      const inContent = { path: '/memories/a.md', line: 2, text: 'The Quick brown fox', score };
      const inPath = { path: '/memories/quick.md', line: null, text: null, score };
      expect(await found('query=QUICK')).toStrictEqual({ matches: [inPath, inContent], more: 0 });
      expect(await found('query=quick&in=path')).toStrictEqual({ matches: [inPath], more: 0 });
      expect(await found('query=quick&in=content')).toStrictEqual({ matches: [inContent], more: 0 });
      expect(await found('query=quick&path=/memories/a.md')).toStrictEqual({ matches: [inContent], more: 0 });
      expect(await found('query=%25&mode=literal')).toStrictEqual({
        matches: [{ path: '/memories/quick.md', line: 1, text: '100% _other_', score: null }],
        more: 0,
      });
      expect(await found('query=t$&mode=regex')).toMatchObject({
        matches: [
          { path: '/memories/a.md', line: 1 },
          { path: '/memories/a.md', line: 3 },
        ],
      });
      expect(await found('query=_t')).toStrictEqual({ matches: [], more: 0 });
      expect(await found('query=t&mode=literal&limit=1')).toMatchObject({
        matches: [{ path: '/memories/a.md', line: 1 }],
        more: 3,
      });
      const now = new Date().toISOString();
      expect(await found(`query=quick&at=${now}`)).toStrictEqual({ matches: [inPath, inContent], more: 0 });
      expect(await found('query=quick&at=2020-01-01')).toStrictEqual({ matches: [], more: 0 });
      expect(problem(await get('/search?query=(a&mode=regex'))).toStrictEqual([
        400,
        'invalid_parameter',
        'Invalid `query` parameter: it is not a regular expression in RE2 syntax: missing closing ): `(a`',
      ]);
      expect(problem(await get('/search?query=a&path=/memories/none'))).toStrictEqual([
        404,
        'not_found',
        '/memories/none does not exist.',
      ]);
      for (const query of [
        '',
        'query=',
        `query=${'x'.repeat(1001)}`,
        'query=%00',
        'query=a&in=all',
        'query=a&mode=x',
        'query=a&limit=0',
        'query=a&limit=101',
        'query=a&path=/etc',
        'query=%3F',
        'query=a&at=yesterday',
      ]) {
        expect([query, (await get(`/search?${query}`)).status]).toStrictEqual([query, 400]);
      }
    });
  },
  { AUTH: 'keys' },
);
