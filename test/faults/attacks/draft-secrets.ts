/** Drafts with a secret from before their tenant rejected or masked secrets, merged and replaced afterward. */
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { execute, openScene } from './scene.ts';

const TOKEN = ['ghp', '16C7e42F292c6912E7710c838347Ae178B4a'].join('_');
const PATH = '/memories/f.md';

export async function draftSecrets(environment: Environment): Promise<Row> {
  const row = new Row('secrets in drafts from before a policy');
  const scene = await openScene(environment, { AUTH_CACHE_SECONDS: '1' });
  const [replica] = scene.replicas;
  if (replica === undefined) throw new Error('a scene has a replica');
  for (const secrets of ['reject', 'mask']) {
    for (const operation of ['merge', 'replace']) {
      const id = `${secrets}-${operation}`;
      await scene.admin('POST', '/tenants', { id });
      const owner = await scene.newKey({ tenant: id, access: 'read_write' });
      const proposer = await scene.newKey({ tenant: id, access: 'propose' });
      await execute(replica, proposer, cmd.create(PATH, `token: ${TOKEN}\n`));
      await scene.admin('PATCH', `/tenants/${id}`, { settings: { secrets } });
      const drafts = JSON.parse((await scene.admin('GET', `/tenants/${id}/drafts`)).text).drafts;
      const draft = `/tenants/${id}/drafts/${drafts[0].id}`;
      const { review } = JSON.parse((await scene.admin('GET', `${draft}/changes`)).text);
      const { status, text } = await scene.admin('POST', `${draft}/${operation}`, { review });
      row.expect(
        status === (secrets === 'reject' ? 409 : 200),
        `${operation} with ${secrets}: ${status} ${text}`,
      );
      const seen = await execute(replica, owner, cmd.view(PATH));
      row.expect(!seen.text.includes(TOKEN), `${operation} with ${secrets} put the secret into the memory`);
      row.times++;
    }
  }
  await scene.end();
  return row;
}
