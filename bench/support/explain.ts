import pg from 'pg';
import { batchStatements } from '../../src/db/statements/batches.ts';
import { obstacleStatements } from '../../src/db/statements/obstacles.ts';
import { readingStatements } from '../../src/db/statements/reading.ts';
import { receiptStatements } from '../../src/db/statements/receipts.ts';
import { writingStatements } from '../../src/db/statements/writing.ts';
import type { BenchDatabase } from './postgres.ts';

const statements = [
  ...readingStatements,
  ...writingStatements,
  ...obstacleStatements,
  ...receiptStatements,
  ...batchStatements,
];
const batches: ReadonlySet<unknown> = new Set(batchStatements);
const FILE = '/memories/d0/f5.md';
const DIRECTORY = '/memories/d0';

/** The plan of each statement on memory, as it runs for `tenant`; nothing of what they do stays. */
export async function explainAll({ query }: BenchDatabase, tenant: string): Promise<string> {
  const [file] = await query('SELECT version FROM entries WHERE tenant_id = $1 AND path = $2', [
    tenant,
    FILE,
  ]);
  const values: Record<string, unknown> = {
    tenant,
    path: FILE,
    paths: [FILE, DIRECTORY],
    ancestors: ['/memories', '/memories/new'],
    parent: '/memories/new',
    content: 'explained',
    version: crypto.randomUUID(),
    readVersion: file?.version,
    maxEntries: 5000,
    now: new Date().toISOString(),
    accessedBefore: new Date().toISOString(),
    from: DIRECTORY,
    to: '/memories/new/d0',
    maxFiles: 0,
    maxBytes: 0,
    maxDepth: 20,
    keyHash: 'key',
    requestHash: 'request',
    answer: 'answer',
    reply: 'answer',
    maxFileBytes: 0,
    oldStr: 'log:',
    newStr: 'log:.',
    line: 1,
    text: 'inserted',
  };
  const parts: string[] = [];
  const explain = async (title: string, index: number, own: Record<string, unknown>) => {
    const statement = statements[index];
    const { sql, parameters } = statement ?? { sql: '', parameters: [] };
    const given = parameters.map((parameter) => {
      const value = { ...values, ...own }[parameter];
      // Of a batch with one call.
      return literal(batches.has(statement) ? [value] : value);
    });
    await query('BEGIN');
    try {
      // Prepared, since the service's statements are, and have one plan for all values.
      await query(`PREPARE explained AS ${sql}`);
      const rows = await query(`EXPLAIN (ANALYZE, BUFFERS) EXECUTE explained (${given.join(', ')})`);
      parts.push(`## ${title}\n\n${rows.map((row) => row['QUERY PLAN']).join('\n')}`);
    } catch (error) {
      parts.push(`## ${title}\n\nfailed: ${String(error)}`);
    } finally {
      await query('ROLLBACK');
      await query('DEALLOCATE ALL');
    }
  };
  for (const [index, { name }] of statements.entries()) {
    if (name === 'look') {
      await explain('look: a file', index, {});
      await explain('look: a directory of 100', index, { path: DIRECTORY });
      await explain('look: /memories', index, { path: '/memories' });
    } else if (name === 'create_files') {
      await explain(name, index, { path: `${DIRECTORY}/explained.md`, parent: DIRECTORY });
    } else if (/create_file/.test(name)) {
      await explain(name, index, { path: '/memories/new/explained.md' });
    } else if (/^delete/.test(name)) {
      await explain(`${name}: a directory of 100`, index, { path: DIRECTORY });
    } else if (name === 'explain_rename') {
      await explain(name, index, { maxBytes: 1024 });
    } else {
      await explain(name, index, {});
    }
  }
  return `${parts.join('\n\n')}\n`;
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number') return String(value);
  return pg.escapeLiteral(
    Array.isArray(value) ? `{${value.map((each) => `"${each}"`).join(',')}}` : String(value),
  );
}
