/**
 * `CREATE_EXISTING=overwrite`: `create` replaces an existing file's content.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { History } from '../../src/core/history/history.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd, error, ok, script } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const PATH = '/memories/a.txt';

/** Returns the operations and sizes of a tenant's versions, the oldest first. */
async function log(service: Service, tenant: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const { operation, path, contentSizeBytes } of new History(service.database).versions(
    tenant,
    {},
  )) {
    lines.push(`${operation} ${path} ${contentSizeBytes}`);
  }
  return lines.reverse();
}

describeService(
  'create with the overwrite setting',
  (service) => {
    script(
      service,
      'with the overwrite setting, returns the same result for an existing file as for a new file',
      {},
      [
        [cmd.create(PATH, 'one\ntwo'), ok('File created successfully at: /memories/a.txt')],
        [cmd.create(PATH, 'x'), ok('File created successfully at: /memories/a.txt')],
        [cmd.view(PATH), ok("Here's the content of /memories/a.txt with line numbers:\n     1\tx")],
        [cmd.create(PATH, ''), ok('File created successfully at: /memories/a.txt')],
        [cmd.view(PATH), ok("Here's the content of /memories/a.txt with line numbers:\n     1\t")],
        [cmd.create(PATH, '…\n'), ok('File created successfully at: /memories/a.txt')],
        [
          cmd.replace(PATH, '…', 'y'),
          ok(
            'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\ty\n     2\t',
          ),
        ],
      ],
    );

    script(
      service,
      'with the overwrite setting, rejects a directory, the root, and a path below a file',
      { '/memories/d/f': 'x' },
      [
        [cmd.create('/memories/d', 'x'), error('Error: File /memories/d already exists')],
        [cmd.create('/memories', 'x'), error('Error: File /memories already exists')],
        [cmd.create('/memories/d/f/g', 'x'), error('Error: /memories/d/f is not a directory')],
        [cmd.view('/memories/d/f'), ok("Here's the content of /memories/d/f with line numbers:\n     1\tx")],
      ],
    );

    it('records a modified version, but no version if the content is equal', async () => {
      const tenant = freshTenant();
      for (const text of ['one', 'three', 'three'])
        await service().execute(cmd.create(PATH, text), { tenant });
      expect(await log(service(), tenant)).toStrictEqual([
        'created /memories/a.txt 3',
        'modified /memories/a.txt 5',
      ]);
      await assertInvariants(service());
    });

    it('counts only the size difference against the quota when a create overwrites a file', async () => {
      const tenant = freshTenant();
      await service().execute(cmd.create(PATH, 'x'.repeat(90)), { tenant });
      await new Tenants(service().database).set(tenant, { maxFiles: 1, maxBytes: 100 });
      const create = async (bytes: number) =>
        (await service().execute(cmd.create(PATH, 'y'.repeat(bytes)), { tenant })).content;
      expect(await create(100)).toBe('File created successfully at: /memories/a.txt');
      expect(await create(101)).toBe(
        'Error: This memory is full: it has 100 bytes, 100 are allowed, and this needs 1 more. Delete or shorten files to make room.',
      );
      const found = await new Tenants(service().database).find(tenant);
      expect(found).toMatchObject({ files: 1, bytes: 100 });
    });

    it('returns the first result to a retry, and does not overwrite the file again', async () => {
      const tenant = freshTenant();
      await service().execute(cmd.create(PATH, 'first'), { tenant });
      const headers = { 'idempotency-key': 'k' };
      const overwrite = () => service().execute(cmd.create(PATH, 'second'), { tenant, headers });
      expect(await overwrite()).toMatchObject({ is_error: false });
      await service().execute(cmd.create(PATH, 'third'), { tenant });
      const again = await overwrite();
      expect(again.headers['idempotency-replayed']).toBe('true');
      expect(again.content).toBe('File created successfully at: /memories/a.txt');
      expect((await service().execute(cmd.view(PATH), { tenant })).content).toBe(
        "Here's the content of /memories/a.txt with line numbers:\n     1\tthird",
      );
      expect(await log(service(), tenant)).toHaveLength(3);
    });

    it('creates a file once and then overwrites it when several writers create it at the same time', async () => {
      const tenant = freshTenant();
      const texts = Array.from({ length: 8 }, (_, i) => `${i}`.repeat(100 + i));
      const answers = await Promise.all(
        texts.map((text) => service().execute(cmd.create(PATH, text), { tenant })),
      );
      for (const { content, is_error } of answers) {
        expect({ content, is_error }).toStrictEqual({
          content: 'File created successfully at: /memories/a.txt',
          is_error: false,
        });
      }
      const { content } = await service().execute(cmd.view(PATH), { tenant });
      expect(
        texts.map((text) => `Here's the content of /memories/a.txt with line numbers:\n     1\t${text}`),
      ).toContain(content);
      const lines = await log(service(), tenant);
      expect(lines.map((line) => line.split(' ')[0])).toStrictEqual([
        'created',
        ...Array(7).fill('modified'),
      ]);
      await assertInvariants(service());
    });

    it('creates or overwrites a file while other commands delete and rename it', async () => {
      const tenant = freshTenant();
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) => {
          const input = [
            cmd.create(PATH, `${i}`),
            cmd.delete(PATH),
            cmd.rename(PATH, `/memories/moved-${i}.txt`),
          ][i % 3];
          return service().execute(input, { tenant });
        }),
      );
      for (const { content, is_error } of answers.filter((_, i) => i % 3 === 0)) {
        expect({ content, is_error }).toStrictEqual({
          content: 'File created successfully at: /memories/a.txt',
          is_error: false,
        });
      }
      await assertInvariants(service());
    });

    it('rejects a create for an existing file if the tenant disables overwriting', async () => {
      const tenant = freshTenant();
      await service().execute(cmd.create('/memories/b.txt', 'x'), { tenant });
      const other = freshTenant();
      await new Tenants(service().database).create(other);
      await new Tenants(service().database).set(other, { createExisting: 'error' });
      const create = async () => (await service().execute(cmd.create(PATH, 'x'), { tenant: other })).content;
      expect([await create(), await create()]).toStrictEqual([
        'File created successfully at: /memories/a.txt',
        'Error: File /memories/a.txt already exists',
      ]);
    });
  },
  { CREATE_EXISTING: 'overwrite' },
);

describeService('create without the overwrite setting', (service) => {
  it('overwrites an existing file on create if the tenant enables overwriting', async () => {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    await new Tenants(service().database).set(tenant, { createExisting: 'overwrite' });
    const create = async (text: string) =>
      (await service().execute(cmd.create(PATH, text), { tenant })).content;
    expect([await create('x'), await create('y')]).toStrictEqual([
      'File created successfully at: /memories/a.txt',
      'File created successfully at: /memories/a.txt',
    ]);
  });
});
