import pg from 'pg';
import type { AnyQuery } from '../../src/core/database/query.ts';
import { lookupFileQuery, lookupQuery, readFileQuery } from '../../src/core/files/read-queries.ts';
import type { BenchDatabase } from './postgres.ts';

const reads = [lookupQuery, lookupFileQuery, readFileQuery] as unknown as AnyQuery[];
const batches: readonly unknown[] = reads.flatMap(({ batch }) => batch ?? []);
const statements = [...reads, ...batches] as AnyQuery[];
const FILE = '/memories/d0/f5.md';
const DIRECTORY = '/memories/d0';

/** Returns the plan for each statement that reads memory, executed for `tenant`. All changes are rolled back. */
export async function explainAll({ query }: BenchDatabase, tenant: string): Promise<string> {
  const values: Record<string, unknown> = {
    tenant,
    path: FILE,
    maxEntries: 5000,
  };
  const parts: string[] = [];
  const explain = async (title: string, index: number, own: Record<string, unknown>) => {
    const statement = statements[index];
    const { sql, parameters } = statement ?? { sql: '', parameters: [] };
    const given = parameters.map((parameter) => {
      const value = { ...values, ...own }[parameter];
      // The batch has one call.
      return literal(batches.includes(statement) ? [value] : value);
    });
    await query('BEGIN');
    try {
      // Prepared, as the service's statements are, which have one plan for all values.
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
    if (name === 'lookup') {
      await explain('look: a file', index, {});
      await explain('look: a directory of 100', index, { path: DIRECTORY });
      await explain('look: /memories', index, { path: '/memories' });
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
