/** @module-tag long-on-pglite */
import type Anthropic from '@anthropic-ai/sdk';
import { beforeAll, expect, it } from 'vitest';
import { expectError, ISO_TIME, readAll, sdk, storeKey } from '../support/memory-stores.ts';
import { describeService } from '../support/test-service.ts';

const time = expect.stringMatching(ISO_TIME);
const HELLO = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const HAELLO = '0fbc7403536f425ad5498d9cd846497f5371ba8374b1aa583c79d2f0c87501ff';

describeService(
  "Anthropic's SDK on the Memory Stores API",
  (service) => {
    let stores: Anthropic['beta']['memoryStores'];
    let key = '';
    beforeAll(async () => {
      key = await storeKey(service());
      stores = sdk(service(), key).beta.memoryStores;
    });

    it('runs all 14 operations with every field', async () => {
      const store = await stores.create({
        name: 'Notes',
        description: 'Of one user',
        metadata: { user: 'ada' },
      });
      expect(store).toStrictEqual({
        id: expect.stringMatching(/^memstore_[0-9a-f]{24}$/),
        type: 'memory_store',
        name: 'Notes',
        description: 'Of one user',
        metadata: { user: 'ada' },
        created_at: time,
        updated_at: store.created_at,
        archived_at: null,
      });
      const { id } = store;
      expect(await stores.retrieve(id)).toStrictEqual(store);
      const updated = await stores.update(id, { name: 'New', metadata: { user: null, team: 'x' } });
      expect(updated).toStrictEqual({
        ...store,
        name: 'New',
        metadata: { team: 'x' },
        updated_at: time,
      });
      expect(updated.updated_at > store.updated_at).toBe(true);
      expect((await stores.list({ limit: 1 })).data).toStrictEqual([updated]);

      const memory = await stores.memories.create(id, {
        path: '/people/ada.md',
        content: 'hello',
        view: 'full',
      });
      expect(memory).toStrictEqual({
        id: expect.stringMatching(/^mem_[0-9a-f]{32}$/),
        type: 'memory',
        memory_store_id: id,
        memory_version_id: expect.stringMatching(/^memver_[0-9a-f]{32}$/),
        path: '/people/ada.md',
        content: 'hello',
        content_sha256: HELLO,
        content_size_bytes: 5,
        created_at: time,
        updated_at: memory.created_at,
      });
      const of = { memory_store_id: id };
      expect(await stores.memories.retrieve(memory.id, of)).toStrictEqual(memory);
      expect((await stores.memories.list(id)).data).toStrictEqual([{ ...memory, content: null }]);
      const edited = await stores.memories.update(memory.id, {
        ...of,
        content: 'hällo',
        path: '/ada.md',
        precondition: { type: 'content_sha256', content_sha256: HELLO },
      });
      expect(edited).toStrictEqual({
        ...memory,
        path: '/ada.md',
        content: null,
        content_sha256: HAELLO,
        content_size_bytes: 6,
        memory_version_id: expect.stringMatching(/^memver_/),
        updated_at: time,
      });
      expect(edited.memory_version_id).not.toBe(memory.memory_version_id);
      const gone = await stores.memories.delete(memory.id, { ...of, expected_content_sha256: HAELLO });
      expect(gone).toStrictEqual({ id: memory.id, type: 'memory_deleted' });

      const versions = await readAll(
        stores.memoryVersions.list(id, { memory_id: memory.id, view: 'full', limit: 2 }),
      );
      const by = { created_by: { type: 'api_actor', api_key_id: expect.stringMatching(/^key_/) } };
      const version = { type: 'memory_version', ...of, memory_id: memory.id, ...by, created_at: time };
      const notRedacted = { redacted_at: null, redacted_by: null };
      const states = [
        {
          operation: 'deleted',
          path: '/ada.md',
          content: null,
          content_sha256: null,
          content_size_bytes: null,
        },
        {
          operation: 'modified',
          path: '/ada.md',
          content: 'hällo',
          content_sha256: HAELLO,
          content_size_bytes: 6,
        },
        {
          operation: 'created',
          path: '/people/ada.md',
          content: 'hello',
          content_sha256: HELLO,
          content_size_bytes: 5,
        },
      ];
      expect(versions).toStrictEqual(
        states.map((state, i) => ({ id: versions[i]?.id, ...version, ...state, ...notRedacted })),
      );
      const [, second, first] = versions as [unknown, { id: string }, { id: string }];
      expect([second.id, first.id]).toStrictEqual([edited.memory_version_id, memory.memory_version_id]);
      expect(await stores.memoryVersions.retrieve(first.id, of)).toStrictEqual(versions[2]);
      const redacted = await stores.memoryVersions.redact(first.id, of);
      expect(redacted).toStrictEqual({
        id: first.id,
        ...version,
        operation: 'created',
        path: null,
        content: null,
        content_sha256: null,
        content_size_bytes: null,
        redacted_at: time,
        redacted_by: by.created_by,
      });
      expect(await stores.memoryVersions.retrieve(first.id, of)).toStrictEqual(redacted);

      const archived = await stores.archive(id);
      expect(archived).toStrictEqual({ ...updated, updated_at: time, archived_at: archived.updated_at });
      expect(await stores.delete(id)).toStrictEqual({ id, type: 'memory_store_deleted' });
      await expectError(stores.retrieve(id), 404, 'not_found_error');
    });

    it("reads an error's class, type, and request ID", async () => {
      const missing = await expectError(stores.retrieve('memstore_none'), 404, 'not_found_error');
      const wrong = sdk(service(), 'wrong').beta.memoryStores;
      const rejected = await expectError(wrong.list(), 401, 'authentication_error');
      for (const { requestID, error, headers } of [missing, rejected]) {
        expect(requestID).toMatch(/^[0-9a-f-]{36}$/);
        expect(error).toMatchObject({ type: 'error', request_id: requestID });
        expect(headers?.get('x-request-id')).toBe(requestID);
      }
      expect(missing.apiMessage).toBe('There is no such memory store.');
    });

    it('returns an error that the SDK does not retry if a memory already exists at the path', async () => {
      const { id } = await stores.create({ name: 'x' });
      await stores.memories.create(id, { path: '/a', content: '' });
      let requests = 0;
      const counting = sdk(service(), key, {
        maxRetries: 2,
        middleware: [
          (request, next) => {
            requests++;
            return next(request);
          },
        ],
      }).beta.memoryStores;
      await expectError(
        counting.memories.create(id, { path: '/a', content: '' }),
        409,
        'memory_path_conflict_error',
      );
      expect(requests).toBe(1);
    });

    it('accepts a key as x-api-key or as a bearer token', async () => {
      const bearer = sdk(service(), '', { apiKey: null, authToken: key }).beta.memoryStores;
      const { id } = await bearer.create({ name: 'x' });
      expect((await stores.retrieve(id)).id).toBe(id);
    });
  },
  { AUTH: 'keys' },
);
