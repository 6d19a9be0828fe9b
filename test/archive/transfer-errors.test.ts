/** @module-tag long-on-pglite */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { problem, useAdmin } from '../support/admin.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService(
  'archives in the admin API',
  (service) => {
    const admin = useAdmin(service);
    const newTenant = async (files: Record<string, string> = {}) => {
      const id = freshTenant('archive');
      await new Tenants(service().database).create(id);
      for (const [path, body] of Object.entries(files)) {
        const headers = { 'if-none-match': '*' };
        const type = 'text/plain';
        await admin().call('PUT', `/tenants/${id}/file?path=${path}`, { body, type, headers });
      }
      return id;
    };
    const download = (id: string, query = '') =>
      admin().app.inject({
        url: `/v1/tenants/${id}/export${query}`,
        headers: { authorization: `Bearer ${admin().key.key}` },
      });
    const upload = (id: string, body: Buffer, query = '', headers = {}) =>
      admin().call('POST', `/tenants/${id}/import${query}`, { body, type: 'application/x-tar', headers });

    it('moves a memory to another tenant by exporting and importing an archive', async () => {
      const from = await newTenant({ '/memories/a.md': 'one', '/memories/d/b.md': '' });
      const archive = await download(from);
      expect([archive.statusCode, archive.headers['content-type']]).toStrictEqual([200, 'application/x-tar']);
      expect(archive.headers['content-disposition']).toBe(`attachment; filename="${from}.tar"`);
      expect(archive.headers['content-length']).toBe(String(archive.rawPayload.length));

      const to = await newTenant();
      const result = {
        dry_run: true,
        files: 2,
        bytes: 3,
        directories: ['/memories/d'],
        versions: null,
        history_left_out: null,
        left_out: [],
        masked: [],
        file_paths: ['/memories/a.md', '/memories/d/b.md'],
        changed_at: null,
      };
      expect((await upload(to, archive.rawPayload, '?dry_run=true')).body).toStrictEqual(result);
      expect((await admin().call('GET', `/tenants/${to}/tree`)).body.entries).toStrictEqual([]);
      const { changed_at: changedAt, ...imported } = (await upload(to, archive.rawPayload)).body;
      expect({ ...imported, changed_at: null }).toStrictEqual({
        ...result,
        dry_run: false,
        file_paths: null,
      });
      expect((await admin().call('GET', `/tenants/${to}/file?path=/memories/a.md`)).text).toBe('one');
      const { body } = await admin().call('GET', `/tenants/${to}/versions?limit=1`);
      expect(body.versions).toMatchObject([
        { actor: { type: 'admin_key', id: admin().key.id }, created_at: changedAt },
      ]);

      expect(problem(await upload(to, archive.rawPayload))).toStrictEqual([
        409,
        'rejected',
        '2 paths are already in use:\n  /memories/a.md\n  /memories/d/b.md\nDelete or rename what is there, or import into another directory.',
      ]);
      const moved = await upload(to, archive.rawPayload, '?into=/memories/copy&strip=1');
      expect(moved.body).toMatchObject({ directories: ['/memories/copy', '/memories/copy/d'] });
    });

    it('exports only the directory or the file that `path` names', async () => {
      const files = {
        '/memories/d/a': 'one',
        '/memories/d/e/b': 'two',
        '/memories/d-c': 'three',
        '/memories/f': '4',
      };
      const from = await newTenant(files);
      const importQuery = async (query: string) => {
        const to = await newTenant();
        await upload(to, (await download(from, query)).rawPayload);
        const { entries } = (await admin().call('GET', `/tenants/${to}/tree`)).body;
        return (entries as { path: string }[]).map(({ path }) => path);
      };
      expect(await importQuery('?path=/memories/d')).toStrictEqual([
        '/memories/d',
        '/memories/d/a',
        '/memories/d/e',
        '/memories/d/e/b',
      ]);
      expect(await importQuery('?path=/memories/f')).toStrictEqual(['/memories/f']);
      expect((await download(from, '?path=/memories/none')).statusCode).toBe(404);
      expect((await download(from, '?path=/memories/d&history=true')).json().detail).toBe(
        'The query parameter history is available only for the whole memory.',
      );
    });

    it("streams an import's progress as lines if the caller accepts NDJSON", async () => {
      const files = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`/memories/${i}`, 'x']));
      const archive = (await download(await newTenant(files))).rawPayload;
      const to = await newTenant();
      const headers = { accept: 'application/x-ndjson' };
      const lines = ({ text }: { text: string }) =>
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line));
      const first = await upload(to, archive, '', headers);
      expect(first.headers['content-type']).toBe('application/x-ndjson');
      expect(lines(first)).toMatchObject([
        { type: 'progress', step: 'check', files: 100, bytes: 100 },
        { type: 'progress', step: 'write', files: 100, of: 100 },
        { type: 'result', dry_run: false, files: 100, bytes: 100 },
      ]);
      expect(lines(await upload(to, archive, '', headers)).at(-1)).toMatchObject({
        type: 'error',
        problem: { status: 409, code: 'rejected' },
      });
    });

    it('returns one JSON object if the caller accepts JSON and NDJSON equally', async () => {
      const archive = (await download(await newTenant({ '/memories/a': 'one' }))).rawPayload;
      const headers = { accept: 'application/x-ndjson, application/json' };
      const { headers: sent } = await upload(await newTenant(), archive, '', headers);
      expect(sent['content-type']).toBe('application/json; charset=utf-8');
    });

    it('rejects an invalid archive, and imports no file', async () => {
      const to = await newTenant();
      const archive = (await download(await newTenant({ '/memories/a': 'one' }))).rawPayload;
      for (const body of [Buffer.from('no archive'), archive.subarray(0, 700), Buffer.alloc(0)]) {
        expect([409, 400]).toContain((await upload(to, body)).status);
      }
      expect((await admin().call('POST', `/tenants/${to}/import`, { body: {} })).body).toMatchObject({
        code: 'unsupported_media_type',
        detail: 'Send the body as Content-Type: application/x-tar.',
      });
      expect((await upload(to, archive, '?strip=x')).status).toBe(400);
      await new Tenants(service().database).set(to, { maxBytes: 2 });
      expect((await upload(to, archive)).status).toBe(409);
      expect((await admin().call('GET', `/tenants/${to}/tree`)).body.entries).toStrictEqual([]);
    });
  },
  { AUTH: 'keys' },
);
