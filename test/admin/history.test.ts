import { expect, it } from 'vitest';
import { Tenants } from '../../src/tenants/tenants.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { hardToCompare } from '../support/hard-diff.ts';
import { describeService, freshTenant } from '../support/service.ts';
import { cmd } from '../support/table.ts';

interface Version {
  id: string;
  memory_id: string;
  created_at: string;
}

describeService(
  'the history on the admin API',
  (service) => {
    const admin = useAdmin(service);
    /** A tenant whose agent created, edited, and moved a file, and created another. */
    const history = async () => {
      const id = freshTenant('history');
      await new Tenants(service().database).create(id);
      const { key, id: keyId } = await makeKey(service(), { tenant: id, label: 'agent' });
      const execute = (input: object) =>
        service().execute(input, { headers: { authorization: `Bearer ${key}` } });
      await execute(cmd.create('/memories/a', 'one\n'));
      await execute(cmd.replace('/memories/a', 'one', 'two'));
      await execute(cmd.rename('/memories/a', '/memories/b'));
      await execute(cmd.create('/memories/c', 'other'));
      const get = (path: string) => admin().call('GET', `/tenants/${id}${path}`);
      const versions = (await get('/versions')).body.versions as Version[];
      const [c, moved, edited, created] = versions as [Version, Version, Version, Version];
      const post = (path: string, body?: object) =>
        admin().call('POST', `/tenants/${id}${path}`, body === undefined ? {} : { body });
      return { id, keyId, execute, get, post, c, moved, edited, created };
    };
    const ids = (versions: unknown) => (versions as Version[]).map(({ id }) => id);

    it('lists versions with what they replaced, filtered, a page at a time', async () => {
      const { get, keyId, c, moved, edited, created } = await history();
      const { body } = await get('/versions');
      expect(body.next).toBeNull();
      expect((body.versions as object[])[1]).toStrictEqual({
        id: moved.id,
        memory_id: created.memory_id,
        operation: 'renamed',
        path: '/memories/b',
        content_sha256: '27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a',
        content_size_bytes: 4,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        actor: { type: 'api_key', id: keyId, label: 'agent' },
        request_id: expect.any(String),
        tool_use_id: null,
        redacted_at: null,
        redacted_by: null,
        previous_version: edited.id,
        previous_path: '/memories/a',
      });
      const listed = async (query: string) => ids((await get(`/versions?${query}`)).body.versions);
      expect(await listed('path=/memories/b')).toStrictEqual([moved.id, edited.id, created.id]);
      expect(await listed('operation=created')).toStrictEqual([c.id, created.id]);
      expect(await listed('operation=renamed')).toStrictEqual([moved.id]);
      expect(await listed(`since=${edited.created_at}&until=${moved.created_at}`)).toStrictEqual([
        moved.id,
        edited.id,
      ]);
      expect(await listed('by=agent')).toHaveLength(4);
      expect(await listed('by=operator')).toStrictEqual([]);
      const paged: string[] = [];
      for (let after = ''; ; ) {
        const page = (await get(`/versions?limit=3${after}`)).body;
        paged.push(...ids(page.versions));
        if (page.next === null) break;
        after = `&after=${page.next}`;
      }
      expect(paged).toStrictEqual([c.id, moved.id, edited.id, created.id]);
      for (const query of ['operation=moved', 'since=x', 'by=a%00', 'limit=201', 'path=/etc']) {
        expect([query, (await get(`/versions?${query}`)).status]).toStrictEqual([query, 400]);
      }
    });

    it('gets a version, and what it changed', async () => {
      const { id, get, moved, edited, created } = await history();
      expect((await get(`/versions/${created.id.toUpperCase()}`)).body).toMatchObject({
        id: created.id,
        content: 'one\n',
        previous_version: null,
        previous_path: null,
      });
      expect((await get(`/versions/${edited.id}/diff`)).body).toStrictEqual({
        changes: [
          {
            old_path: '/memories/a',
            path: '/memories/a',
            old_version: created.id,
            version: edited.id,
            patch:
              'diff --git a/memories/a b/memories/a\n--- a/memories/a\n+++ b/memories/a\n@@ -1,1 +1,1 @@\n-one\n+two\n',
            no_patch_reason: null,
          },
        ],
      });
      expect((await get(`/versions/${moved.id}/diff?against=${created.id}`)).body).toMatchObject({
        changes: [
          { old_path: '/memories/a', path: '/memories/b', old_version: created.id, version: moved.id },
        ],
      });
      const unknown = '00000000-0000-4000-8000-000000000000';
      const none = [404, 'not_found', `Version ${unknown} of ${id} does not exist.`];
      expect(problem(await get(`/versions/${unknown}`))).toStrictEqual(none);
      expect(problem(await get(`/versions/${created.id}/diff?against=${unknown}`))).toStrictEqual(none);
      expect((await get('/versions/nonsense')).status).toBe(400);
    });

    it('compares two times, a page at a time', async () => {
      const { get, created, c, edited } = await history();
      const { body } = await get(`/diff?at=${created.created_at}`);
      expect(body).toMatchObject({
        path: '/memories',
        at: created.created_at,
        changes: [
          { old_path: '/memories/a', path: '/memories/b' },
          { old_path: null, path: '/memories/c', old_version: null, version: c.id },
        ],
        next: null,
      });
      const first = (await get(`/diff?at=${created.created_at}&limit=1`)).body;
      expect(first.changes).toHaveLength(1);
      const second = (await get(`/diff?at=${created.created_at}&limit=1&after=${first.next}`)).body;
      expect(second).toMatchObject({ to: first.to, changes: [{ path: '/memories/c' }], next: null });
      expect((await get(`/diff?at=${created.created_at}&to=${edited.created_at}`)).body.changes).toHaveLength(
        1,
      );
      // Before the tenant existed, there was nothing.
      expect((await get('/diff?at=2020-01-01&to=2020-01-02')).body.changes).toStrictEqual([]);
      expect((await get('/diff?at=2020-01-01')).body.changes).toHaveLength(2);
      expect((await get('/diff')).status).toBe(400);
    });

    it('repeats no change after one that left a file as it was', async () => {
      const { execute, get, moved } = await history();
      await execute(cmd.replace('/memories/b', 'two', 'three'));
      await execute(cmd.replace('/memories/b', 'three', 'two'));
      await execute(cmd.create('/memories/d', 'new'));
      const query = `/diff?at=${moved.created_at}&limit=1`;
      const first = (await get(query)).body;
      const second = (await get(`${query}&after=${first.next}`)).body;
      expect([first.changes, second.changes]).toMatchObject([
        [{ path: '/memories/c' }],
        [{ path: '/memories/d' }],
      ]);
      expect(second.next).toBeNull();
    });

    it('ends a page of differences after one that took much work', async () => {
      const { execute, get, c } = await history();
      const { before, after } = hardToCompare();
      await execute(cmd.create('/memories/hard', before));
      const at = ((await get('/versions')).body.versions as Version[])[0]?.created_at;
      await execute(cmd.delete('/memories/c'));
      await execute(cmd.replace('/memories/hard', before, after));
      await execute(cmd.create('/memories/z', 'last'));
      const first = (await get(`/diff?at=${at}`)).body;
      expect(first.changes).toMatchObject([{ old_version: c.id }, { path: '/memories/hard' }]);
      const second = (await get(`/diff?at=${at}&after=${first.next}`)).body;
      expect(second).toMatchObject({ changes: [{ path: '/memories/z' }], next: null });
    });

    it('restores, after a dry run that says the same, in the name of the key', async () => {
      const { get, post, created, moved } = await history();
      const expected = {
        dry_run: true,
        files: [
          {
            change: 'renamed',
            path: '/memories/a',
            from: '/memories/b',
            memory_id: created.memory_id,
            content_changed: true,
          },
          {
            change: 'deleted',
            path: '/memories/c',
            from: null,
            memory_id: expect.any(String),
            content_changed: true,
          },
        ],
        directories_made: [],
        directories_removed: [],
        summary: '1 file deleted, 1 file renamed and modified',
      };
      const at = created.created_at;
      expect((await post('/restore', { at, dry_run: true })).body).toStrictEqual(expected);
      expect((await get('/file?path=/memories/b')).text).toBe('two\n');
      expect((await post('/restore', { at })).body).toStrictEqual({ ...expected, dry_run: false });
      expect((await get('/file?path=/memories/a')).text).toBe('one\n');
      const [latest] = (await get('/versions?path=/memories/a&limit=1')).body.versions as object[];
      expect(latest).toMatchObject({
        actor: { type: 'api_key', id: admin().key.id, label: 'control plane' },
      });

      const version = await post('/restore', { version: moved.id, path: '/memories/back/b' });
      expect(version.body).toMatchObject({
        files: [{ change: 'added', from: null, path: '/memories/back/b' }],
        directories_made: ['/memories/back'],
      });
      for (const body of [{}, { at: '1m', version: moved.id }, { at: 'x' }, { at: '1m', dry_run: 'yes' }]) {
        expect([body, (await post('/restore', body)).status]).toStrictEqual([body, 400]);
      }
      expect((await post('/restore', { at: '2020-01-01' })).body.code).toBe('history_incomplete');
      expect((await post('/restore', { at: '1m', path: '/memories/never' })).status).toBeGreaterThanOrEqual(
        404,
      );
    });

    it('reverts what one actor did, and lists conflicts', async () => {
      const { id, get, post, created, c } = await history();
      await admin().call('PUT', `/tenants/${id}/file?path=/memories/c`, {
        body: 'by the operator',
        type: 'text/plain',
        headers: { 'if-match': '*' },
      });
      const reverted = await post('/revert', { by: 'agent', since: created.created_at });
      expect([reverted.status, reverted.body]).toMatchObject([
        200,
        {
          dry_run: false,
          files: [{ change: 'deleted', path: '/memories/b' }],
          conflicts: [
            {
              path: '/memories/c',
              memory_id: c.memory_id,
              reason: 'changed',
              changed_by: { type: 'api_key', id: admin().key.id },
              at: null,
              message: expect.stringContaining('/memories/c: key control plane changed it at'),
            },
          ],
        },
      ]);
      expect((await get('/file?path=/memories/c')).text).toBe('by the operator');
      expect((await post('/revert', { by: 'agent' })).status).toBe(400);
    });

    it('redacts a superseded version, and no live one', async () => {
      const { get, post, created, c } = await history();
      expect((await post(`/versions/${created.id}/redact`)).body).toStrictEqual({
        versions: 1,
        same_path: 1,
        answers: 0,
      });
      expect((await get(`/versions/${created.id}`)).body).toMatchObject({
        path: null,
        content: null,
        redacted_by: { type: 'api_key', id: admin().key.id },
      });
      expect(problem(await post(`/versions/${c.id}/redact`))).toStrictEqual([
        409,
        'refused',
        `Version ${c.id} is live. Edit or delete the file first, then redact this version.`,
      ]);
    });

    it('redacts the names of directories that are gone, and of no others', async () => {
      const { execute, post, get } = await history();
      await execute(cmd.create('/memories/old/f', 'x'));
      await execute(cmd.rename('/memories/old/f', '/memories/f'));
      await execute(cmd.replace('/memories/f', 'x', 'y'));
      const redact = (path: string) => post('/directories/redact', { path });
      expect(problem(await redact('/memories/old'))).toStrictEqual([
        409,
        'refused',
        '/memories/old still exists. Delete or rename it first, then redact its name.',
      ]);
      const listed = (await get('/versions?path=/memories/f')).body.versions as Version[];
      const created = String(listed[2]?.id);
      await execute(cmd.rename('/memories/old', '/memories/new'));
      expect(problem(await redact('/memories/old'))).toStrictEqual([
        409,
        'refused',
        `Version ${created} was at /memories/old or below it. Redact the versions of the files there first.`,
      ]);
      await execute(cmd.rename('/memories/new', '/memories/old'));
      // The directory is there, so this leaves its name.
      expect((await post(`/versions/${created}/redact`)).body).toMatchObject({ versions: 2 });
      await execute(cmd.delete('/memories/old'));
      expect((await redact('/memories/old')).body).toStrictEqual({ directories: 2, answers: 0 });
      expect(problem(await redact('/memories/old'))).toStrictEqual([
        404,
        'not_found',
        expect.stringMatching(/^Tenant \S+ never had a directory \/memories\/old\.$/),
      ]);
    });

    it('counts changes over time by actor', async () => {
      const { get, keyId, post, created } = await history();
      await post('/restore', { at: created.created_at });
      const { body } = await get('/activity?since=1h&buckets=4');
      expect(body).toMatchObject({
        bucket_seconds: 900,
        actors: [
          { type: 'api_key', id: keyId, label: 'agent' },
          { type: 'api_key', id: admin().key.id, label: 'control plane' },
        ],
      });
      const buckets = body.buckets as { start: string; counts: number[]; others: number }[];
      expect(buckets).toHaveLength(4);
      expect(buckets[0]).toStrictEqual({
        start: body.since?.toString().replace('000Z', 'Z'),
        counts: [0, 0],
        others: 0,
      });
      expect(buckets[3]).toMatchObject({ counts: [4, 2], others: 0 });
      for (const query of ['since=1h&until=2h', 'buckets=0', 'buckets=501', 'since=x']) {
        expect([query, (await get(`/activity?${query}`)).status]).toStrictEqual([query, 400]);
      }
    });
  },
  { AUTH: 'keys' },
);
