/** An admin for one tenant requests many differences that are slow to compute, while another admin works. */
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { execute, openScene, type Scene } from './scene.ts';

/** Number of requests that one admin may have in flight. */
const MAX_CONCURRENT = 6;
const MAX_MS = 1000;
const BYTES = 1_000_000;

/** Returns a text with short lines. Any two lines may be equal, so a comparison takes long. */
function shortLines(seed: number): string {
  const lines: string[] = [];
  for (let i = 0; i < BYTES / 2; i++) lines.push(`${Math.floor((i * 7919 + seed * 31) / 8) % 3}\n`);
  return lines.join('');
}

/** @returns the path of the difference between a file's two states in a new tenant */
async function replacedFile(scene: Scene, tenant: string, before: string, after: string): Promise<string> {
  const [replica] = scene.replicas;
  if (replica === undefined) throw new Error('a scene has a replica');
  await scene.admin('POST', '/tenants', { id: tenant });
  const key = await scene.newKey({ tenant, access: 'read_write' });
  const path = '/memories/f';
  for (const command of [cmd.create(path, before), cmd.delete(path), cmd.create(path, after)]) {
    const { text } = await execute(replica, key, command);
    if (!text.includes('"is_error":false'))
      throw new Error(`cannot prepare ${tenant}: ${text.slice(0, 500)}`);
  }
  const { text } = await scene.admin('GET', `/tenants/${tenant}/versions?operation=created`);
  const [to, from] = (JSON.parse(text) as { versions: { id: string }[] }).versions;
  return `/tenants/${tenant}/versions/${to?.id}/diff?against=${from?.id}`;
}

export async function differenceShares(environment: Environment): Promise<Row> {
  const rounds = environment.option('DIFFERENCE_ROUNDS', 20, 5);
  const row = new Row('slow differences by an admin of one tenant');
  const scene = await openScene(environment);
  const slow = await replacedFile(scene, 'attacker', shortLines(1), shortLines(2));
  const long = 'line\n'.repeat(1000);
  const quick = {
    'two lines': await replacedFile(scene, 'short', 'one\n', 'two\n'),
    '1,000 lines': await replacedFile(scene, 'long', `${long}one\n`, `${long}two\n`),
  };
  const attacker = await scene.newKey({ kind: 'admin', access: 'read_write', tenants: ['attacker'] });
  const other = await scene.newKey({ kind: 'admin', access: 'read_write', tenants: ['short', 'long'] });
  let isOver = false;
  let differences = 0;
  const attack = Array.from({ length: MAX_CONCURRENT }, async () => {
    while (!isOver) {
      const { status } = await scene.admin('GET', slow, undefined, attacker);
      row.expect(status === 200, `a slow difference got ${status}`);
      differences++;
    }
  });
  for (let i = 0; i < rounds; i++)
    for (const [title, path] of Object.entries(quick)) {
      const started = performance.now();
      const { status } = await scene.admin('GET', path, undefined, other);
      const ms = performance.now() - started;
      row.times++;
      row.longestMs = Math.max(row.longestMs, ms);
      row.expect(status === 200, `a difference of ${title} got ${status}`);
      row.expectInTime(ms < MAX_MS, `another admin's difference of ${title} took ${Math.round(ms)} ms`);
    }
  isOver = true;
  await Promise.all(attack);
  row.notes.push(`${differences} slow differences beside them`);
  await scene.end();
  return row;
}
