/** @module-tag long-on-pglite */
import { createHash } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { expect, it } from 'vitest';
import { assertInvariants } from '../support/invariants.ts';
import { readAll, sdk } from '../support/memory-stores.ts';
import { describeService } from '../support/test-service.ts';

describeService(
  'simultaneous edits by agents and updates with a precondition',
  (service) => {
    /** Runs edits and updates that each add a unique line: `each` of both kinds, `width` at a time. */
    async function mix(each: number, width: number): Promise<void> {
      const { memoryStores } = sdk(service(), 'any').beta;
      const { id: store } = await memoryStores.create({ name: 'x' });
      const of = { memory_store_id: store };
      const { id } = await memoryStores.memories.create(store, { path: '/log', content: '' });

      const edit = async (i: number) => {
        const input = { command: 'insert', path: '/memories/log', insert_line: 0, insert_text: `edit ${i}` };
        expect((await service().execute(input, { tenant: store })).is_error).toBe(false);
      };
      const update = async (i: number) => {
        for (;;) {
          const { content } = await memoryStores.memories.retrieve(id, of);
          const content_sha256 = createHash('sha256')
            .update(content ?? '')
            .digest('hex');
          const updated = await memoryStores.memories
            .update(id, {
              ...of,
              content: `${content}update ${i}\n`,
              precondition: { type: 'content_sha256', content_sha256 },
            })
            .catch((error: unknown) => error);
          if (!(updated instanceof Error)) return;
          expect(updated).toBeInstanceOf(Anthropic.ConflictError);
        }
      };
      const work = Array.from({ length: each }, (_, i) => [() => edit(i), () => update(i)]).flat();
      const worker = async () => {
        for (let next = work.shift(); next !== undefined; next = work.shift()) await next();
      };
      await Promise.all(Array.from({ length: width }, worker));

      const { content } = await memoryStores.memories.retrieve(id, of);
      const numbers = Array.from({ length: each }, (_, i) => [`edit ${i}`, `update ${i}`]).flat();
      expect(content?.trimEnd().split('\n').sort()).toStrictEqual(numbers.sort());
      // Each change created one version.
      const versions = await readAll(memoryStores.memoryVersions.list(store, { memory_id: id, limit: 100 }));
      expect(versions.length).toBe(2 * each + 1);
      await assertInvariants(service());
    }

    it('loses no change if agents edit and clients update a file at the same time', () => mix(10, 4));
    it('loses no change among 400 edits and 400 updates', { tags: 'long' }, () => mix(400, 6));
  },
  { RATE_LIMIT_PER_MINUTE: '0' },
);
