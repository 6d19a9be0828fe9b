/** @module-tag long-on-pglite */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { hardToCompare } from '../support/hard-diff.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

interface Version {
  id: string;
  memory_id: string;
  created_at: string;
}

describeService(
  'the history in the admin API',
  (service) => {
    const admin = useAdmin(service);
    /** Creates a tenant whose agent created, edited, and moved one file and created another. */
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

    it("lists versions by page and filter, each with the previous version's ID and path", async () => {
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
        source: null,
        draft: null,
        approved_by: null,
        via_tenant: null,
        redacted_at: null,
        redacted_by: null,
        previous_version: edited.id,
        previous_path: '/memories/a',
      });
      const listIds = async (query: string) => ids((await get(`/versions?${query}`)).body.versions);
      expect(await listIds('path=/memories/b')).toStrictEqual([moved.id, edited.id, created.id]);
      expect(await listIds('operation=created')).toStrictEqual([c.id, created.id]);
      expect(await listIds('operation=renamed')).toStrictEqual([moved.id]);
      expect(await listIds(`since=${edited.created_at}&until=${moved.created_at}`)).toStrictEqual([
        moved.id,
        edited.id,
      ]);
      expect(await listIds('by=agent')).toHaveLength(4);
      expect(await listIds('by=operator')).toStrictEqual([]);
      // The filter also matches the path before a move.
      expect(await listIds('path_contains=RIES/A')).toStrictEqual([moved.id, edited.id, created.id]);
      expect(await listIds('path_contains=ries/b')).toStrictEqual([moved.id]);
      expect(await listIds('path_contains=%25')).toStrictEqual([]);
      expect(await listIds('path_contains=/a&path=/memories/c')).toStrictEqual([]);
      expect(await listIds('by_contains=AGE')).toHaveLength(4);
      expect(await listIds(`by_contains=${keyId.slice(4)}&operation=renamed`)).toStrictEqual([moved.id]);
      expect(await listIds('by_contains=api_key agent')).toHaveLength(4);
      expect(await listIds('by_contains=anonymous')).toStrictEqual([]);
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

    it('returns a version, and compares it with the previous or another version', async () => {
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

    it('lists the changes between two times page by page', async () => {
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
      // The tenant did not exist yet.
      expect((await get('/diff?at=2020-01-01&to=2020-01-02')).body.changes).toStrictEqual([]);
      expect((await get('/diff?at=2020-01-01')).body.changes).toHaveLength(2);
    });

    it('compares with the start of the history if the request gives no time', async () => {
      const { id, get, created, moved } = await history();
      const start = async () => String((await get('')).body.history_since);
      expect((await get('/diff')).body).toMatchObject({
        at: await start(),
        changes: [
          { old_path: null, path: '/memories/b' },
          { old_path: null, path: '/memories/c' },
        ],
      });
      // Simulates pruning.
      await service().query('UPDATE tenants SET history_since = $2::timestamptz WHERE id = $1', [
        id,
        moved.created_at,
      ]);
      expect((await get(`/diff?at=${created.created_at}`)).body.code).toBe('history_incomplete');
      const first = (await get('/diff?limit=1')).body;
      expect(first).toMatchObject({ at: moved.created_at, changes: [{ path: '/memories/c' }] });
      expect((await get(`/tree?at=${await start()}`)).body.entries).toMatchObject([{ path: '/memories/b' }]);
    });

    it('compares later pages with the same time after the start of the history has changed', async () => {
      const { id, get, execute } = await history();
      await execute(cmd.create('/memories/d', 'last'));
      const first = (await get('/diff?limit=1')).body;
      await service().query(
        'UPDATE tenants SET created_at = $2::text::timestamptz, history_since = $2::text::timestamptz WHERE id = $1',
        [id, new Date(Date.now() - 86_400_000).toISOString()],
      );
      await service().query('SELECT memory_bind_root($1)', [id]);
      const second = (await get(`/diff?limit=1&after=${first.next}`)).body;
      expect(second).toMatchObject({ at: first.at, to: first.to, changes: [{ path: '/memories/c' }] });
    });

    it('omits a file that was changed and changed back from paginated differences', async () => {
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

    it('ends a page early when comparing files takes too much work', { tags: 'long' }, async () => {
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

    it('restores a memory with the result that the dry run reported, and records the key as the actor', async () => {
      const { get, post, c, created, moved } = await history();
      const expected = {
        dry_run: true,
        files: [
          {
            change: 'renamed',
            path: '/memories/a',
            from: '/memories/b',
            memory_id: created.memory_id,
            content_changed: true,
            merged: false,
            old_version: moved.id,
            version: created.id,
          },
          {
            change: 'deleted',
            path: '/memories/c',
            from: null,
            memory_id: c.memory_id,
            content_changed: true,
            merged: false,
            old_version: c.id,
            version: null,
          },
        ],
        directories_made: [],
        directories_removed: [],
        kept_out: [],
        summary: '1 file deleted, 1 file renamed and modified',
        plan: expect.stringMatching(/^[0-9a-f]{64}$/),
        changed_at: null,
      };
      const at = created.created_at;
      expect((await post('/restore', { at, dry_run: true })).body).toStrictEqual(expected);
      expect((await get('/file?path=/memories/b')).text).toBe('two\n');
      expect((await post('/restore', { at })).body).toStrictEqual({
        ...expected,
        dry_run: false,
        changed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/),
      });
      expect((await get('/file?path=/memories/a')).text).toBe('one\n');
      const [latest] = (await get('/versions?path=/memories/a&limit=1')).body.versions as object[];
      expect(latest).toMatchObject({
        actor: { type: 'admin_key', id: admin().key.id, label: 'control plane' },
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

    it('rejects a restore or revert if the affected files have changed since the dry run', async () => {
      const { execute, get, post, created, moved } = await history();
      const plans = {
        '/restore': { at: created.created_at },
        '/revert': { by: 'agent', since: moved.created_at },
      };
      for (const [path, body] of Object.entries(plans)) {
        expect((await post(path, { ...body, plan: 'x' })).body.detail).toBe(
          'The field plan must be the `plan` of a dry run.',
        );
        const { plan } = (await post(path, { ...body, dry_run: true })).body;
        await execute(cmd.replace('/memories/b', 'two', 'three'));
        expect(problem(await post(path, { ...body, plan }))).toStrictEqual([
          412,
          'precondition_failed',
          'The memory has changed since the dry run, so the changes would differ. Nothing was changed. Do another dry run.',
        ]);
        expect((await get('/file?path=/memories/b')).text).toBe('three\n');
        await execute(cmd.replace('/memories/b', 'three', 'two'));
      }
      // Changes to other files do not invalidate the plan.
      const target = { version: created.id };
      const { plan } = (await post('/restore', { ...target, dry_run: true })).body;
      await execute(cmd.replace('/memories/c', 'other', 'another'));
      expect((await post('/restore', { ...target, plan })).body).toMatchObject({ plan, dry_run: false });
      expect((await get('/file?path=/memories/a')).text).toBe('one\n');
      expect((await get('/file?path=/memories/c')).text).toBe('another');

      const copy = { version: moved.id, path: '/memories/copy' };
      const copied = (await post('/restore', { ...copy, dry_run: true })).body;
      expect((await post('/restore', { ...copy, plan: copied.plan })).body).toMatchObject({
        plan: copied.plan,
        files: [{ change: 'added', old_version: null, version: moved.id }],
      });
      expect((await post('/restore', { ...copy, plan: 'x' })).status).toBe(400);
    });

    it('reverts only the change made at the given time', async () => {
      const { execute, get, post, created, moved } = await history();
      const restored = (await post('/restore', { at: created.created_at })).body;
      await execute(cmd.create('/memories/later', 'kept'));
      const since = restored.changed_at;
      const undone = await post('/revert', { by: admin().key.id, since, until: since });
      expect(undone.body).toMatchObject({
        summary: '1 file added, 1 file renamed and modified',
        conflicts: [],
      });
      expect((await get('/file?path=/memories/b')).text).toBe('two\n');
      expect((await get('/file?path=/memories/c')).text).toBe('other');
      expect((await get('/file?path=/memories/later')).text).toBe('kept');

      // Later changes by the actor are kept, like changes by others.
      const early = { by: 'agent', since: moved.created_at, until: moved.created_at };
      expect((await post('/revert', { ...early, dry_run: true })).body).toMatchObject({
        files: [{ change: 'renamed', from: '/memories/b', path: '/memories/a', content_changed: false }],
        conflicts: [],
      });
    });

    it('reverts changes by one actor, and reports a conflict if another actor has changed the file since', async () => {
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
              reason: 'deleted_in_reverted',
              changed_by: { type: 'admin_key', id: admin().key.id },
              at: null,
              resolution: null,
              choices: ['reverted', 'current', 'text'],
              message: expect.stringMatching(
                /^\/memories\/c: the revert would delete it, but admin key control plane changed it at \S+Z\. Left unchanged\.$/,
              ),
            },
          ],
        },
      ]);
      expect((await get('/file?path=/memories/c')).text).toBe('by the operator');
      expect(Object.keys(reverted.body)[0]).toBe('conflicts');
      expect((await post('/revert', { by: 'agent' })).status).toBe(400);
      expect(problem(await post('/revert', { since: '1h' }))[2]).toBe(
        'The body requires `by`, `source`, or `until` to undo the changes of all actors in a period.',
      );
    });

    it('shows and resolves a conflict in a revert', async () => {
      const { id, execute, get, post, c } = await history();
      await admin().call('PUT', `/tenants/${id}/file?path=/memories/c`, {
        body: '1\n2\n3\n4\n5\n',
        type: 'text/plain',
        headers: { 'if-match': '*' },
      });
      const { body } = await get('/versions?path=/memories/c&limit=1');
      const since = (body.versions as { created_at: string }[])[0]?.created_at;
      await execute(cmd.replace('/memories/c', '1\n', 'evil\n'));
      await admin().call('PUT', `/tenants/${id}/file?path=/memories/c`, {
        body: 'less evil\n2\n3\n4\n55\n',
        type: 'text/plain',
        headers: { 'if-match': '*' },
      });
      const { memory_id } = c;
      const shown = await get(`/revert/diff?by=agent&since=${since}&memory_id=${memory_id}`);
      expect([shown.status, shown.body]).toMatchObject([
        200,
        {
          difference: { old_path: '/memories/c', path: '/memories/c', version: null },
          texts: { current: 'less evil\n2\n3\n4\n55\n', reverted: '1\n2\n3\n4\n55\n' },
        },
      ]);
      const revert = { by: 'agent', since };
      const kept = await post('/revert', { ...revert, resolutions: [{ memory_id, take: 'current' }] });
      expect(kept.body).toMatchObject({
        conflicts: [{ reason: 'content', resolution: 'current' }],
        files: [],
        changed_at: null,
      });
      const done = await post('/revert', { ...revert, resolutions: [{ memory_id, take: 'reverted' }] });
      expect(done.body).toMatchObject({
        conflicts: [{ reason: 'content', resolution: 'reverted' }],
        files: [{ change: 'modified', path: '/memories/c', version: null, merged: true }],
      });
      expect((await get('/file?path=/memories/c')).text).toBe('1\n2\n3\n4\n55\n');
      const unknown = { memory_id: '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52', text: 'x' };
      expect(problem(await post('/revert', { ...revert, resolutions: [unknown] }))).toStrictEqual([
        404,
        'not_found',
        'The revert does not affect the file 0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52. Use the `memory_id` of a dry run.',
      ]);
    });

    it('redacts a superseded version, and returns 409 for a current version', async () => {
      const { get, post, created, c } = await history();
      expect((await post(`/versions/${created.id}/redact`)).body).toStrictEqual({
        versions: 1,
        same_path: 1,
        stored_results: 0,
        drafts: [],
      });
      expect((await get(`/versions/${created.id}`)).body).toMatchObject({
        path: null,
        content: null,
        redacted_by: { type: 'admin_key', id: admin().key.id },
      });
      expect(problem(await post(`/versions/${c.id}/redact`))).toStrictEqual([
        409,
        'rejected',
        `Version ${c.id} is live. Edit or delete the file first, then redact this version.`,
      ]);
    });

    it("redacts a directory's name only if the directory is deleted and its versions are redacted", async () => {
      const { execute, post, get } = await history();
      await execute(cmd.create('/memories/old/f', 'x'));
      await execute(cmd.rename('/memories/old/f', '/memories/f'));
      await execute(cmd.replace('/memories/f', 'x', 'y'));
      const redact = (path: string) => post('/directories/redact', { path });
      expect(problem(await redact('/memories/old'))).toStrictEqual([
        409,
        'rejected',
        '/memories/old still exists. Delete or rename it first, then redact its name.',
      ]);
      const listed = (await get('/versions?path=/memories/f')).body.versions as Version[];
      const created = String(listed[2]?.id);
      await execute(cmd.rename('/memories/old', '/memories/new'));
      expect(problem(await redact('/memories/old'))).toStrictEqual([
        409,
        'rejected',
        `Version ${created} was at /memories/old or below it. Redact the versions of the files there first.`,
      ]);
      await execute(cmd.rename('/memories/new', '/memories/old'));
      // The redaction keeps an existing directory's name.
      expect((await post(`/versions/${created}/redact`)).body).toMatchObject({ versions: 2 });
      await execute(cmd.delete('/memories/old'));
      expect((await redact('/memories/old')).body).toStrictEqual({ directories: 2, stored_results: 0 });
      expect(problem(await redact('/memories/old'))).toStrictEqual([
        404,
        'not_found',
        expect.stringMatching(/^Tenant \S+ never had a directory \/memories\/old\.$/),
      ]);
    });

    it('accepts a redaction for /memories in a tenant that never had files', async () => {
      const id = freshTenant('empty');
      await new Tenants(service().database).create(id);
      const redact = (tenant: string) =>
        admin().call('POST', `/tenants/${tenant}/directories/redact`, { body: { path: '/memories' } });
      expect((await redact(id)).body).toStrictEqual({ directories: 0, stored_results: 0 });
      expect(problem(await redact(`${id}-not`))).toStrictEqual([
        404,
        'not_found',
        `Tenant ${id}-not does not exist.`,
      ]);
    });

    it("counts each actor's changes per time interval", async () => {
      const { get, keyId, post, created } = await history();
      await post('/restore', { at: created.created_at });
      const { body } = await get('/activity?since=1h&buckets=4');
      expect(body).toMatchObject({
        bucket_seconds: 900,
        actors: [
          { type: 'api_key', id: keyId, label: 'agent' },
          { type: 'admin_key', id: admin().key.id, label: 'control plane' },
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
      const whole = (await get('/activity?buckets=1')).body;
      expect(whole).toMatchObject({
        since: (await get('')).body.history_since,
        buckets: [{ counts: [4, 2], others: 0 }],
      });
      for (const query of ['since=1h&until=2h', 'buckets=0', 'buckets=501', 'since=x']) {
        expect([query, (await get(`/activity?${query}`)).status]).toStrictEqual([query, 400]);
      }
    });

    it('counts changes in intervals exact to the microsecond, including deletions and redacted versions', async () => {
      const { id, get } = await history();
      const change = (change: string, sign: '+' | '-') =>
        service().query(
          `WITH changed AS (${change} RETURNING bytes)
           UPDATE tenants SET history_versions = history_versions ${sign} (SELECT count(*) FROM changed),
             history_bytes = history_bytes ${sign} (SELECT sum(bytes) FROM changed) WHERE id = $1`,
          [id],
        );
      await change(
        `INSERT INTO versions (tenant_id, id, memory_id, operation, path, bytes, created_at, superseded_at, origin, redacted_at)
         SELECT $1, memory_version_id(memory_id_prefix(at), gen_random_uuid()), gen_random_uuid(), operation, '/memories/x', 1000, at, at,
           CASE operation WHEN 'deleted' THEN '{"actor": {"type": "operator", "name": "ann"}}'::jsonb END,
           CASE operation WHEN 'modified' THEN at END
         FROM (VALUES
           ('2020-01-01T00:00:00Z'::timestamptz, 'deleted'),
           ('2020-01-01T00:00:00.999999Z', 'deleted'),
           ('2020-01-01T00:00:01Z', 'deleted'),
           ('2020-01-01T00:00:01.000001Z', 'modified'),
           ('2020-01-01T00:00:01.999999Z', 'modified'),
           ('2020-01-01T00:00:02Z', 'modified')
         ) AS v (at, operation)`,
        '+',
      );
      const countChanges = async (since: string, until: string) => {
        const { body } = await get(`/activity?buckets=2&since=${since}&until=${until}`);
        return [body.actors, (body.buckets as { counts: number[] }[]).map(({ counts }) => counts)];
      };
      const [ann, anonymous] = [{ type: 'operator', name: 'ann' }, { type: 'anonymous' }];
      const second = '2020-01-01T00:00:0';
      expect(await countChanges(`${second}0Z`, `${second}2Z`)).toStrictEqual([
        [ann, anonymous],
        [
          [2, 0],
          [1, 2],
        ],
      ]);
      expect(await countChanges(`${second}1.000001Z`, `${second}2.000001Z`)).toStrictEqual([
        [anonymous],
        [[1], [2]],
      ]);
      await change("DELETE FROM versions WHERE tenant_id = $1 AND created_at < '2020-01-01T00:00:01Z'", '-');
      expect(await countChanges(`${second}0Z`, `${second}2Z`)).toStrictEqual([
        [anonymous, ann],
        [
          [0, 0],
          [2, 1],
        ],
      ]);
      await assertInvariants(service());
    });

    it('returns the times at which the memory changed before and after a given time', async () => {
      const { id, get, created, edited, moved, c } = await history();
      const adjacentTimes = async (at?: string) => {
        const { body } = await get(`/adjacent-changes${at === undefined ? '' : `?at=${at}`}`);
        return [body.previous, body.next];
      };
      const start = (await get('')).body.history_since;
      expect(await adjacentTimes()).toStrictEqual([moved.created_at, null]);
      expect(await adjacentTimes(c.created_at)).toStrictEqual([moved.created_at, null]);
      expect(await adjacentTimes(moved.created_at)).toStrictEqual([edited.created_at, c.created_at]);
      expect(await adjacentTimes(created.created_at)).toStrictEqual([start, edited.created_at]);
      expect(await adjacentTimes('2020-01-01')).toStrictEqual([null, created.created_at]);
      // Versions can be older than the time at which the complete history starts.
      await service().query('UPDATE tenants SET history_since = $2::timestamptz WHERE id = $1', [
        id,
        edited.created_at,
      ]);
      expect(await adjacentTimes(moved.created_at)).toStrictEqual([edited.created_at, c.created_at]);
      expect(await adjacentTimes(edited.created_at)).toStrictEqual([null, moved.created_at]);
      expect(await adjacentTimes('2020-01-01')).toStrictEqual([null, edited.created_at]);
    });
  },
  { AUTH: 'keys' },
);
