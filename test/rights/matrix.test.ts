/**
 * Isolation of rights by path: everything that a key with rights can do gives the same responses in a memory with hidden
 * files and in one in which they never existed. Covers each route and tool that agents can reach: a new one fails the
 * test until it is classified.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { commands } from '../../src/core/memory/commands/index.ts';
import { accessTo, isReadable } from '../../src/core/memory/rights.ts';
import { COMMANDS, compareDoors, FILES, listReads, PATHS } from '../support/agent-doors.ts';
import {
  type KeyClient,
  keyClient,
  type RightsByPath,
  tenantWithFiles,
  toRights,
} from '../support/rights-client.ts';
import { cmd } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';

/** Routes for keys that share, which have no rights (keys.test.ts). */
const FOR_SHARING = [
  'GET /v1/invitations',
  'POST /v1/invitations',
  'DELETE /v1/invitations/{invitation}',
  'GET /v1/shares',
  'POST /v1/shares',
  'DELETE /v1/shares/{share}',
];

/** Tools. A key with rights can neither share, nor see the tool for it. */
const TOOLS = ['memory_search', 'memory_sharing'];

/** Routes of the Memory Stores API that name a file or a version by its ID, or the store. `stores.test.ts` has them. */
const BY_ID = [
  'POST /v1/memory_stores',
  'GET /v1/memory_stores',
  'GET /v1/memory_stores/{memory_store_id}',
  'POST /v1/memory_stores/{memory_store_id}',
  'DELETE /v1/memory_stores/{memory_store_id}',
  'POST /v1/memory_stores/{memory_store_id}/archive',
  'POST /v1/memory_stores/{memory_store_id}/memories',
  'GET /v1/memory_stores/{memory_store_id}/memories/{memory_id}',
  'POST /v1/memory_stores/{memory_store_id}/memories/{memory_id}',
  'DELETE /v1/memory_stores/{memory_store_id}/memories/{memory_id}',
  'GET /v1/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}',
  'POST /v1/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}/redact',
];
/** Routes that serve no memory. */
const PUBLIC = [
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /.well-known/oauth-protected-resource',
  'GET /.well-known/oauth-protected-resource/mcp',
];

const SETS: RightsByPath[] = [
  { '/memories/a': 'none' },
  { '/memories/a/b': 'none', '/memories/h/i': 'none' },
  { '/memories/a/b/c': 'none' },
  { '/memories/f.md': 'none', '/memories/a/b/f.md': 'none' },
  { '/memories': 'none', '/memories/a/b': 'read_write' },
  { '/memories': 'none', '/memories/a/b/c': 'read_only', '/memories/z': 'read_write' },
  { '/memories/a': 'none', '/memories/a/b': 'read_only', '/memories/a/b/c': 'none' },
  { '/memories/a': 'read_only', '/memories/a/b': 'none', '/memories/a/b/c': 'read_write' },
  { '/memories': 'none', '/memories/a/b/f.md': 'read_write' },
  { '/memories/a.moved': 'none', '/memories/z': 'none', '/memories/a/new.md': 'none' },
  { '/memories/a': 'propose', '/memories/a/b': 'none', '/memories/z': 'read_only' },
  {
    '/memories': 'propose',
    '/memories/a/b': 'read_write',
    '/memories/a/b/c': 'none',
    '/memories/h/i': 'none',
  },
];

const LEVELS = [undefined, 'none', 'read_only', 'propose', 'read_write'] as const;
/** Each 23rd combination of accesses for four nested directories. */
const COMBINATIONS: RightsByPath[] = Array.from({ length: 27 }, (_, i) => 7 + 23 * i).map((number) => {
  const rights: RightsByPath = {};
  for (const [depth, path] of ['/memories', '/memories/a', '/memories/a/b', '/memories/a/b/c'].entries()) {
    const access = LEVELS[Math.floor(number / LEVELS.length ** depth) % LEVELS.length];
    if (access !== undefined) rights[path] = access;
  }
  return rights;
});

describeService(
  'a memory with hidden files',
  (service) => {
    const compareMemories = async (given: RightsByPath) => {
      const rights = toRights(given);
      const readable = Object.entries(FILES).filter(([path]) => isReadable(rights, path));
      const memories = [FILES, Object.fromEntries(readable)].map((files) =>
        tenantWithFiles(service(), files),
      );
      const clients: KeyClient[] = [];
      for (const memory of memories) clients.push(await keyClient(service(), (await memory).tenant, given));
      await compareDoors(service(), clients, PATHS);
      // Changes to paths with `propose` are in the key's draft only.
      const fixed = Object.entries(FILES).filter(([path]) => accessTo(rights, path) !== 'read_write');
      const all = await keyClient(service(), clients[0]?.tenant ?? '');
      for (const [path, text] of fixed) {
        const { content } = await all.send(cmd.view(path));
        expect(content, path).toBe(`Here's the content of ${path} with line numbers:\n     1\t${text}`);
      }
    };

    it('classifies each route, command, and tool', () => {
      const { paths = {} } = service().app.swagger() as { paths?: Record<string, object> };
      const routes = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      const known = [...Object.keys(listReads([])), ...BY_ID, ...FOR_SHARING, ...PUBLIC];
      expect(routes.filter((route) => !known.includes(route))).toStrictEqual([]);
      expect(commands.map(({ name }) => name)).toStrictEqual(Object.keys(COMMANDS));
      expect(service().app.tools.map(({ name }) => name)).toStrictEqual(TOOLS);
    });

    const TITLE = 'gives the same responses as a memory without them: %j';
    it.each(SETS)(TITLE, { timeout: 120_000 }, compareMemories);
    it.each(COMBINATIONS)(TITLE, { timeout: 120_000, tags: 'long' }, compareMemories);
  },
  { AUTH: 'keys', PROVENANCE: 'on_request' },
);
