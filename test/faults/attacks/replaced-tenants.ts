/**
 * Keys for a deleted or renamed tenant, on two replicas that have cached them, after another customer received the
 * tenant's ID.
 */
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { call, execute, openScene } from './scene.ts';

const SECRET = 'of the new customer';

export async function replacedTenants(environment: Environment): Promise<Row> {
  const times = environment.option('REPLACED_TENANTS', 20, 5);
  const row = new Row('keys of a tenant after its id was given to another one');
  const scene = await openScene(environment, { AUTH_CACHE_SECONDS: '30', AUTH_FAILURES_PER_MINUTE: '0' }, 2);
  for (let i = 0; i < times; i++) {
    const id = `reused-${i}`;
    await scene.admin('POST', '/tenants', { id });
    const old = [
      await scene.newKey({ tenant: id, access: 'read_write' }),
      await scene.newKey({ tenant: id, access: 'read_only' }),
      await scene.newKey({ tenant: id, access: 'propose' }),
    ];
    for (const replica of scene.replicas)
      for (const key of old) await execute(replica, key, cmd.view('/memories/f.md'));
    if (i % 2 === 0) await scene.admin('DELETE', `/tenants/${id}`);
    else await scene.admin('POST', `/tenants/${id}/rename`, { to: `${id}-renamed` });
    await scene.admin('POST', '/tenants', { id });
    const current = await scene.newKey({ tenant: id, access: 'read_write' });
    const [first] = scene.replicas;
    if (first === undefined) throw new Error('a scene has a replica');
    await execute(first, current, cmd.create('/memories/f.md', SECRET));
    for (const replica of scene.replicas) {
      for (const key of old) {
        const responses = [
          await execute(replica, key, cmd.view('/memories/f.md')),
          await execute(replica, key, cmd.create(`/memories/${row.times}.md`, 'by the earlier customer')),
          await call(`${replica.url}/search`, 'POST', key, { query: 'customer' }),
          await call(`${replica.url}/v1/memory_stores/${id}/memories?view=full`, 'GET', key),
        ];
        for (const { text } of responses) row.expect(!text.includes(SECRET), `a key of ${id} read: ${text}`);
        row.times += responses.length;
      }
      const { text } = await execute(replica, current, cmd.view('/memories'));
      row.expect(
        text.includes('f.md') && !/\/\d+\.md/.test(text),
        `${id} has files of the earlier one: ${text}`,
      );
    }
  }
  await scene.end();
  return row;
}
