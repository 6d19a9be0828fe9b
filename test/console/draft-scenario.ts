import type { FastifyInstance } from 'fastify';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { createDraft } from '../../src/features/drafts/create-draft.ts';
import type { Draft } from '../../src/features/drafts/drafts.ts';
import { createAgent } from '../support/start-console.ts';

const file = (path: string) => `/memories/${path}`;
const replace = (path: string, old_str: string, new_str: string) => ({
  command: 'str_replace',
  path: file(path),
  old_str,
  new_str,
});

/**
 * Proposes a draft for the memory from `createPoisonedMemory`, which has changed since. The draft has a file of each
 * kind and one conflict in `customers/lee.md`.
 */
export async function proposeDraft(
  app: FastifyInstance,
  database: Database,
  tenant: string,
  title = 'Tidy up the notes on customers',
): Promise<Draft> {
  const draft = await createDraft(database, loadConfig({ AUTH: 'keys' }), tenant, {
    title,
    author: { type: 'api_key', id: 'key_0123456789ab', label: 'nightly-tidier', source: 'consolidation' },
  });
  const tidier = await createAgent(app, database, draft.id, 'nightly-tidier');
  await tidier({ command: 'create', path: file('products/plans.md'), file_text: '# Plans\n\n- Premium\n' });
  await tidier(replace('style.md', 'Friendly, short', 'Friendly, brief'));
  await tidier({
    command: 'rename',
    old_path: file('customers/garcia.md'),
    new_path: file('customers/archive/garcia.md'),
  });
  await tidier({ command: 'delete', path: file('instructions.md') });
  await tidier(replace('billing/taxes.md', '- FR 20 %', '- FR 20 % (standard)'));
  await tidier(replace('customers/lee.md', '- Got a refund of 900 EUR', '- Refund: 900 EUR, paid'));

  const support = await createAgent(app, database, tenant, 'support-agent');
  await support(replace('customers/lee.md', '- Got a refund of 900 EUR', '- Got a refund of 950 EUR'));
  await support(replace('billing/taxes.md', '- PT 23 %', '- PT 23 % (Madeira 22 %)'));
  await support(replace('customers/okafor.md', 'twice', 'three times'));
  return draft;
}
