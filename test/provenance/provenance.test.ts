/**
 * Provenance of the lines that views and searches show, byte for byte.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import type { TenantSettings } from '../../src/core/tenants/settings.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { useAdmin } from '../support/admin.ts';
import { Drafting } from '../support/drafting.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, setHistoryDays } from '../support/test-service.ts';
import {
  A,
  anyDay,
  blockIn,
  INCLUDE,
  client as makeClient,
  newTenant as makeTenant,
  OMIT,
} from './provenance-reader.ts';

const THREE = 'one\ntwo\nthree';
const THREE_LINES = `Here's the content of ${A} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree`;

describeServiceOnOwnDatabase(
  'provenance',
  (service) => {
    const admin = useAdmin(service);
    const drafting = new Drafting(service);

    const newTenant = (settings?: Partial<TenantSettings>) => makeTenant(service(), settings);
    const client = (purpose: Partial<KeyPurpose>) => makeClient(service(), purpose);

    it('appends who wrote each line last, and the UTC day, after the lines of a view', async () => {
      const tenant = await newTenant();
      const laptop = await client({ tenant, label: 'laptop' });
      const crawler = await client({ tenant, label: 'crawler', source: 'web' });
      await laptop.send(cmd.create(A, THREE));
      await crawler.send(cmd.replace(A, 'two', 'zwei'));
      await service().query(
        `UPDATE entries SET changed_at = '2026-11-20T23:59:59Z' WHERE tenant_id = $1 AND path = $2`,
        [tenant, A],
      );
      await service().query(
        `UPDATE versions SET created_at = '2026-11-02T00:00:00Z', superseded_at = '2026-11-20T23:59:59Z'
       WHERE tenant_id = $1`,
        [tenant],
      );
      expect(await laptop.send(cmd.view(A), INCLUDE)).toBe(
        `Here's the content of ${A} with line numbers:
     1\tone
     2\tzwei
     3\tthree
[Last change to each line, by day in UTC:
1: key laptop, 2026-11-02
2: key crawler, source web, 2026-11-20, unreviewed
3: key laptop, 2026-11-02]`,
      );
      expect(await laptop.send(cmd.view(A, [2, 3]), INCLUDE)).toBe(
        `Here's the content of ${A} with line numbers:
     2\tzwei
     3\tthree
[Last change to each line, by day in UTC:
2: key crawler, source web, 2026-11-20, unreviewed
3: key laptop, 2026-11-02]`,
      );
      expect(await laptop.search({ query: 'zwei one' })).toBe(
        `Found 1 file in /memories, the best first:
${A}:1: one
${A}:2: zwei
[Last change to each line, by day in UTC:
${A}:1: key laptop, 2026-11-02
${A}:2: key crawler, source web, 2026-11-20, unreviewed]`,
      );
    });

    it('appends nothing without the header, with the setting never, a directory, and an error', async () => {
      const tenant = await newTenant();
      const laptop = await client({ tenant });
      await laptop.send(cmd.create(A, THREE));
      expect(await laptop.send(cmd.view(A))).toBe(THREE_LINES);
      expect(await laptop.send(cmd.view(A), OMIT)).toBe(THREE_LINES);
      expect(await laptop.send(cmd.view('/memories'), INCLUDE)).toBe(
        `Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n13B\t${A}`,
      );
      const { body } = await service().execute(cmd.view('/memories/none.md'), {
        headers: { ...laptop.auth, ...INCLUDE },
      });
      expect(body).toStrictEqual({
        content: 'The path /memories/none.md does not exist. Please provide a valid path.',
        is_error: true,
      });
      expect(await laptop.search({ query: 'absent' })).toBe(
        'Nothing matches in /memories (1 file searched). Try other or fewer words, or view /memories to see what is there.',
      );
      const silent = await newTenant({});
      const phone = await client({ tenant: silent });
      await phone.send(cmd.create(A, THREE));
      expect(await phone.send(cmd.view(A), INCLUDE)).toBe(THREE_LINES);
      expect(await phone.search({ query: 'two' })).toBe(
        `Found 1 file in /memories, the best first:\n${A}:2: two`,
      );
    });

    it('appends the block to every view with the setting always, unless the header omits it', async () => {
      const tenant = await newTenant({ provenance: 'always' });
      const laptop = await client({ tenant, label: 'laptop' });
      await laptop.send(cmd.create(A, THREE));
      expect(anyDay(await laptop.send(cmd.view(A)))).toBe(
        `${THREE_LINES}\n[Last change to each line, by day in UTC:\n1-3: key laptop, DAY]`,
      );
      expect(await laptop.send(cmd.view(A), OMIT)).toBe(THREE_LINES);
      expect(await laptop.search({ query: 'two' }, OMIT)).toBe(
        `Found 1 file in /memories, the best first:\n${A}:2: two`,
      );
    });

    it('rejects a header that is neither include nor omit', async () => {
      const tenant = await newTenant();
      const { auth } = await client({ tenant });
      const headers = { ...auth, 'x-memory-provenance': 'yes' };
      const expected = {
        code: 'invalid_parameter',
        detail: 'The header X-Memory-Provenance is neither include nor omit.',
      };
      const viewed = await service().execute(cmd.view(A), { headers });
      expect([viewed.status, viewed.body]).toMatchObject([400, expected]);
      const searched = await service().app.inject({
        method: 'POST',
        url: '/search',
        headers,
        payload: { query: 'a' },
      });
      expect([searched.statusCode, searched.json()]).toMatchObject([400, expected]);
    });

    it('follows lines through edits, moves, and rewrites of the file', async () => {
      const tenant = await newTenant({ provenance: 'on_request', createExisting: 'overwrite' });
      const [ada, bob, eve] = await Promise.all(
        ['ada', 'bob', 'eve'].map((label) => client({ tenant, label })),
      );
      const b = '/memories/dir/b.md';
      await ada?.send(cmd.create(A, 'a\n\nb\n\nc\n'));
      await bob?.send(cmd.insert(A, 2, 'ß\nnew\n'));
      await ada?.send(cmd.rename(A, b));
      await eve?.send(cmd.create(b, 'start\na\n\nß\nnew\n\nc\nend\n'));
      expect(await ada?.block(b)).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1: key eve, DAY',
        '2-3: key ada, DAY',
        '4-5: key bob, DAY',
        '6-7: key ada, DAY',
        '8: key eve, DAY',
        '9: key ada, DAY]',
      ]);
    });

    it('says unknown where the history was pruned or off', async () => {
      const tenant = await newTenant();
      const laptop = await client({ tenant, label: 'laptop' });
      await laptop.send(cmd.create(A, THREE));
      await laptop.send(cmd.replace(A, 'one', 'eins'));
      await laptop.send(cmd.replace(A, 'two', 'zwei'));
      await service().query(`DELETE FROM versions WHERE tenant_id = $1 AND operation = 'created'`, [tenant]);
      expect(await laptop.block()).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1: unknown, DAY or earlier',
        '2: key laptop, DAY',
        '3: unknown, DAY or earlier]',
      ]);
      await setHistoryDays(service(), tenant, 0);
      service().app.services.policies.forget(tenant);
      await laptop.send(cmd.replace(A, 'three', 'drei'));
      expect(await laptop.block()).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1-3: unknown, DAY or earlier]',
      ]);
    });

    it('says unknown for lines from before a redacted version', async () => {
      const tenant = await newTenant();
      const laptop = await client({ tenant, label: 'laptop' });
      await laptop.send(cmd.create(A, THREE));
      await laptop.send(cmd.replace(A, 'two', 'secret'));
      await laptop.send(cmd.replace(A, 'secret', 'zwei'));
      const { body } = await admin().call('GET', `/tenants/${tenant}/versions`);
      const versions = body.versions as { id: string; operation: string }[];
      const { status } = await admin().call('POST', `/tenants/${tenant}/versions/${versions[1]?.id}/redact`, {
        body: {},
      });
      expect(status).toBe(200);
      expect(await laptop.block()).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1-3: unknown, DAY or earlier]',
      ]);
    });

    it("names a mounted memory's actors by their kind, except for the reader's own", async () => {
      const shared = await newTenant({});
      const tenant = await newTenant();
      const team = await client({ tenant: shared, label: 'secret-name' });
      const web = await client({ tenant: shared, label: 'other-name', source: 'web' });
      const own = await client({ tenant, label: 'laptop' });
      await setMount(service().database, tenant, {
        name: 'team',
        tenant: shared,
        access: 'read_write',
        instructions: '',
      });
      service().app.services.policies.forget(tenant);
      await team.send(cmd.create(A, THREE));
      await web.send(cmd.replace(A, 'two', 'zwei'));
      await own.send(cmd.replace('/memories/team/a.md', 'three', 'drei'));
      await own.send(cmd.create('/memories/mine.md', 'drei'));
      expect(await own.block('/memories/team/a.md')).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1: a key, in a mounted memory, DAY',
        '2: a key, source web, in a mounted memory, DAY, unreviewed',
        '3: key laptop, in a mounted memory, DAY]',
      ]);
      expect(blockIn(await own.search({ query: 'drei', mode: 'literal' }))).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '/memories/mine.md:1: key laptop, DAY',
        '/memories/team/a.md:3: key laptop, in a mounted memory, DAY]',
      ]);
      await new Tenants(service().database).set(shared, { provenance: 'always' });
      service().app.services.policies.forget(shared);
      expect(await team.block()).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1: key secret-name, DAY',
        '2: key other-name, source web, DAY, unreviewed',
        '3: a key, through a mount, DAY]',
      ]);
    });

    it("marks a draft's lines as unreviewed, and merged lines as approved", async () => {
      const tenant = await newTenant();
      const owner = await client({ tenant, label: 'owner' });
      const browser = await client({ tenant, access: 'propose', label: 'browser', source: 'web' });
      const helper = await client({ tenant, access: 'propose', label: 'helper' });
      await owner.send(cmd.create(A, 'one\ntwo\nthree\nfour'));
      await owner.send(cmd.replace(A, 'one', 'eins'));
      await browser.send(cmd.replace(A, 'two', 'zwei'));
      await helper.send(cmd.replace(A, 'four', 'vier'));
      expect(await browser.block()).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1: key owner, DAY',
        '2: key browser, source web, DAY, unreviewed',
        '3-4: key owner, DAY]',
      ]);
      expect(await helper.block()).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1-3: key owner, DAY',
        '4: key helper, DAY, unreviewed]',
      ]);
      const { body } = await admin().call('GET', `/tenants/${tenant}/drafts`);
      const drafts = body.drafts as { id: string; title: string }[];
      for (const { id } of drafts) await drafting.merge({ tenant, id } as Parameters<Drafting['merge']>[0]);
      expect(await owner.block()).toStrictEqual([
        '[Last change to each line, by day in UTC:',
        '1: key owner, DAY',
        '2: key browser, source web, DAY, approved by operator grace',
        '3: key owner, DAY',
        '4: key helper, DAY, approved by operator grace]',
      ]);
    });

    it('runs no statement more without provenance', async () => {
      const tenant = await newTenant({});
      const laptop = await client({ tenant });
      await laptop.send(cmd.create(A, THREE));
      const { provenance } = service().app.services;
      let calls = 0;
      service().app.services.provenance = {
        describeView: async () => String(++calls),
        describeMatches: async () => String(++calls),
      };
      await laptop.send(cmd.view(A), INCLUDE);
      await laptop.search({ query: 'two' });
      service().app.services.provenance = provenance;
      expect(calls).toBe(0);
    });
  },
  { AUTH: 'keys' },
);
