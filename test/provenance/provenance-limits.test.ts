/**
 * Limits of provenance, and histories that other features changed.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import type { MemoryPath } from '../../src/core/memory/path.ts';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { useAdmin } from '../support/admin.ts';
import { headersFor, modern, requestHeaders } from '../support/mcp.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';
import { A, anyDay, blockIn, INCLUDE, client as makeClient, newTenant } from './provenance-reader.ts';

const HEADING = '[Last change to each line, by day in UTC:';

describeServiceOnOwnDatabase(
  'the limits of provenance',
  (service) => {
    const admin = useAdmin(service);
    const client = (purpose: Partial<KeyPurpose>) => makeClient(service(), purpose);

    it('appends the block to results over MCP and in arrays of tool_use blocks', async () => {
      const tenant = await newTenant(service());
      const laptop = await client({ tenant, label: 'laptop' });
      await laptop.send(cmd.create(A, 'one'));
      const call = async (name: string, input: object) => {
        const message = modern('tools/call', { name, arguments: input });
        const headers = { ...requestHeaders(laptop.key), ...headersFor(message), ...INCLUDE };
        const payload = JSON.stringify(message);
        const { body } = await service().app.inject({ method: 'POST', url: '/mcp', headers, payload });
        return blockIn(JSON.parse(body.replace(/^[^{]*/, '')).result.content[0].text);
      };
      expect(await call('memory', cmd.view(A))).toStrictEqual([HEADING, '1: key laptop, DAY]']);
      expect(await call('memory_search', { query: 'one' })).toStrictEqual([
        HEADING,
        `${A}:1: key laptop, DAY]`,
      ]);
      const blocks = ['toolu_1', 'toolu_2'].map((id) => ({
        type: 'tool_use',
        id,
        name: 'memory',
        input: cmd.view(A),
      }));
      const { body } = await service().execute(blocks, { headers: { ...laptop.auth, ...INCLUDE } });
      expect(JSON.parse(anyDay(JSON.stringify(body)))).toStrictEqual(
        blocks.map(({ id }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: `Here's the content of ${A} with line numbers:\n     1\tone\n${HEADING}\n1: key laptop, DAY]`,
          is_error: false,
        })),
      );
    });

    it('reads the last 100 versions before the current one', async () => {
      const tenant = await newTenant(service());
      const old = await client({ tenant, label: 'old' });
      const laptop = await client({ tenant, label: 'laptop' });
      await old.send(cmd.create(A, 'first\nx\nlast'));
      for (let i = 0; i < 100; i++) {
        await laptop.send(cmd.replace(A, i === 0 ? '\nx\n' : `\n${i}\n`, `\n${i + 1}\n`));
      }
      expect(await laptop.block()).toStrictEqual([
        HEADING,
        '1: key old, DAY',
        '2: key laptop, DAY',
        '3: key old, DAY]',
      ]);
      await laptop.send(cmd.replace(A, 'last', 'end'));
      expect(await laptop.block()).toStrictEqual([
        HEADING,
        '1: unknown, DAY or earlier',
        '2-3: key laptop, DAY]',
      ]);
    });

    it('says unknown for a file of more than 1 MiB', async () => {
      const tenant = await newTenant(service(), { provenance: 'on_request', maxFileBytes: 2 * 1024 * 1024 });
      const laptop = await client({ tenant });
      await laptop.send(cmd.create(A, `one\n${'x'.repeat(1024 * 1024)}`));
      expect(await laptop.send(cmd.view(A, [1, 1]), INCLUDE)).toBe(
        `Here's the content of ${A} with line numbers:\n     1\tone\n${HEADING}\n1: unknown]`,
      );
    });

    it('covers the lines that a truncated view shows', async () => {
      const tenant = await newTenant(service(), { provenance: 'on_request', maxViewChars: 170 });
      const laptop = await client({ tenant, label: 'laptop' });
      await laptop.send(cmd.create(A, `one\ntwo${'\nx'.repeat(51)}`));
      expect(anyDay(await laptop.send(cmd.view(A), INCLUDE))).toBe(
        `Here's the content of ${A} with line numbers:\n     1\tone\n     2\ttwo\n     3\tx\n[Truncated: showing lines 1 to 3 of 53. Use view_range [4, -1] to read the rest.]\n${HEADING}\n1-3: key laptop, DAY]`,
      );
    });

    it('describes no line of a file that changed in between, or of a tenant that was replaced', async () => {
      const tenant = await newTenant(service());
      const laptop = await client({ tenant, label: 'laptop' });
      await laptop.send(cmd.create(A, 'one'));
      const { policies, provenance } = service().app.services;
      const policy = await policies.policyFor(tenant, { autoCreate: false, ip: '' });
      const principal = {
        tenant,
        actor: { type: 'anonymous' },
        access: 'read_write',
        autoCreate: false,
      } as const;
      const path = A as MemoryPath;
      const shown = { path, content: 'one', first: 1, last: 1 };
      expect(anyDay(await provenance?.describeView(shown, { principal, policy }))).toBe(
        `${HEADING}\n1: key laptop, DAY]`,
      );
      expect(await provenance?.describeView({ ...shown, content: 'two' }, { principal, policy })).toBe(
        '[The last change to each line is unknown, because the file has just changed.]',
      );
      const match = { path: A, line: 1, text: 'two' };
      expect(await provenance?.describeMatches([match], { principal, policy })).toBe(
        `${HEADING}\n${A}:1: unknown]`,
      );
      const replaced = { ...policy, createdAt: '2020-01-01T00:00:00.000000Z' };
      expect(await provenance?.describeView(shown, { principal, policy: replaced })).toBe(
        `${HEADING}\n1: unknown]`,
      );
    });

    it("uses only the reader's tenant, though another tenant has the same files", async () => {
      const [one, other] = [await newTenant(service()), await newTenant(service())];
      const ada = await client({ tenant: one, label: 'ada' });
      const bob = await client({ tenant: other, label: 'bob' });
      for (const each of [ada, bob]) {
        await each.send(cmd.create(A, 'one\ntwo'));
        await each.send(cmd.replace(A, 'two', 'zwei'));
      }
      const [file] = await service().query(
        'SELECT memory_id, version FROM entries WHERE tenant_id = $1 AND path = $2',
        [one, A],
      );
      await service().query(
        'UPDATE entries SET memory_id = $3, version = $4 WHERE tenant_id = $1 AND path = $2',
        [other, A, file?.memory_id, file?.version],
      );
      expect(await ada.block()).toStrictEqual([HEADING, '1-2: key ada, DAY]']);
      expect(await bob.block()).toStrictEqual([HEADING, '1-2: unknown, DAY or earlier]']);
    });

    it('attributes a restored line to the operator who restored it', async () => {
      const tenant = await newTenant(service());
      const laptop = await client({ tenant, label: 'laptop' });
      await laptop.send(cmd.create(A, 'one\ntwo\nthree'));
      await laptop.send(cmd.replace(A, 'two', 'zwei'));
      const { body } = await admin().call('GET', `/tenants/${tenant}/versions`);
      const [, created] = body.versions as { created_at: string }[];
      const restored = await admin().call('POST', `/tenants/${tenant}/restore`, {
        body: { at: created?.created_at, path: A },
      });
      expect(restored.status).toBe(200);
      const [heading, ...rows] = await laptop.block();
      expect([heading, rows[0], rows[2]]).toStrictEqual([
        HEADING,
        '1: key laptop, DAY',
        '3: key laptop, DAY]',
      ]);
      expect(rows[1]).toMatch(/^2: (admin key|operator) /);
    });

    it('compares texts that replaced an erased text', async () => {
      const tenant = await newTenant(service());
      const ada = await client({ tenant, label: 'ada' });
      const bob = await client({ tenant, label: 'bob' });
      await ada.send(cmd.create(A, 'one\nsecret\nthree'));
      await bob.send(cmd.replace(A, 'three', 'drei'));
      await bob.send(cmd.replace(A, 'secret', 'two'));
      const [created] = await service().query(
        "SELECT memory_id, id FROM versions WHERE tenant_id = $1 AND operation = 'created'",
        [tenant],
      );
      await service().query('SELECT memory_replace_content($1, $2, $3, $4)', [
        tenant,
        created?.memory_id,
        created?.id,
        'one\n[erased]\nthree',
      ]);
      expect(await ada.block()).toStrictEqual([HEADING, '1: key ada, DAY', '2-3: key bob, DAY]']);
    });
  },
  { AUTH: 'keys' },
);
