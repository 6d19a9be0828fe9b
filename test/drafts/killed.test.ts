/** A process that is killed during a merge leaves all changes or none. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findDraft } from '../../src/features/drafts/drafts.ts';
import { Drafting } from '../support/drafting.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { type Service, startService } from '../support/test-service.ts';

const FILES = 5000;
const SCRIPT = fileURLToPath(new URL('../support/merge-and-die.ts', import.meta.url));

describe('a merge that is killed', { tags: ['long'] }, () => {
  let service: Service;
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  beforeAll(async () => {
    database = await createTestDatabase();
    service = await startService('postgres', { DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await service.close();
    await database.drop();
  });
  const drafting = new Drafting(() => service);

  async function mergeAndDie(draft: string, ...at: string[]) {
    const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, database.url, 'big', draft, ...at], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [code, signal] = await once(child, 'exit');
    return signal ?? code;
  }

  it(`applies all ${FILES} files or none if the process is killed during the merge`, async () => {
    await service.execute(cmd.create('/memories/kept', 'kept'), { tenant: 'big' });
    const draft = await drafting.create('big');
    for (let i = 0; i < FILES; i += 100) {
      const writes = Array.from({ length: 100 }, (_, j) =>
        service.execute(cmd.create(`/memories/d${i / 100}/f${j}`, `${i + j}`), { tenant: draft.id }),
      );
      for (const { body } of await Promise.all(writes)) expect(body).toMatchObject({ is_error: false });
    }
    const before = await readTree(service, 'big');
    const proposed = await readTree(service, draft.id);
    for (const at of [
      ['change', '1', 'before'],
      ['change', '1', 'during'],
      ['change', '5', 'during'],
      ['change', '10', 'during'],
      ['close_draft', '1', 'during'],
      ['archive_store', '1', 'during'],
    ]) {
      expect(await mergeAndDie(draft.id, ...at), at.join(' ')).toBe('SIGKILL');
      // The lock becomes available after the server has noticed the lost connection.
      await service.query("SELECT id FROM tenants WHERE id = 'big' FOR UPDATE");
      expect(await readTree(service, 'big'), at.join(' ')).toStrictEqual(before);
      expect((await findDraft(service.database.query, 'big', draft.id)).state).toBe('open');
      await assertInvariants(service);
    }
    // The process is killed only after the merge, because `archive_store` runs once.
    expect(await mergeAndDie(draft.id, 'archive_store', '2', 'before')).toBe(0);
    expect(await readTree(service, 'big')).toStrictEqual(new Map([...before, ...proposed]));
    expect((await findDraft(service.database.query, 'big', draft.id)).state).toBe('merged');
    await assertInvariants(service);
  });
});
