/** An admin key for one tenant requests everything that could name another tenant. */
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { execute, openScene } from './scene.ts';

const HIDDEN = 'hidden-customer';

export async function scopedAdmins(environment: Environment): Promise<Row> {
  const row = new Row('an admin key for one tenant, about others');
  const scene = await openScene(environment);
  const [replica] = scene.replicas;
  if (replica === undefined) throw new Error('a scene has a replica');
  for (const id of ['own', HIDDEN]) await scene.admin('POST', '/tenants', { id });
  const mount = { tenant: 'own', access: 'read_write' };
  await scene.admin('PUT', `/tenants/${HIDDEN}/mounts/shared`, mount);
  await scene.admin('PUT', '/tenants/own/mounts/theirs', { tenant: HIDDEN, access: 'read_only' });
  const writer = await scene.newKey({ tenant: HIDDEN, access: 'read_write' });
  await execute(replica, writer, cmd.create('/memories/shared/f.md', 'x'));
  const scoped = await scene.newKey({ kind: 'admin', access: 'read_write', tenants: ['own'] });
  const requests: [method: string, path: string, status: number][] = [
    ['GET', '/tenants', 200],
    ['GET', '/tenants/own', 200],
    ['GET', '/tenants/own/mounts', 200],
    ['GET', '/tenants/own/versions', 200],
    ['GET', '/audit', 200],
    ['GET', '/keys', 200],
    ['GET', '/drafts', 200],
    ['GET', '/usage', 403],
    ['DELETE', '/tenants/own', 409],
  ];
  for (const [method, path, expected] of requests) {
    const { status, text } = await scene.admin(method, path, undefined, scoped);
    row.expect(status === expected, `${method} ${path}: ${status} ${text}`);
    row.expect(!text.includes(HIDDEN), `${method} ${path} names another tenant: ${text}`);
    row.times++;
  }
  await scene.end();
  return row;
}
