/**
 * Merges a draft in a separate process, which kills itself with SIGKILL when the transaction reaches a statement:
 * before the statement is sent, or while the server executes it. Arguments: the database URL, the tenant, the draft,
 * the statement, its number, `before` or `during`.
 */
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import type { QueryExecutor } from '../../src/core/database/query.ts';
import { MergeThreads } from '../../src/core/history/line-merge.ts';
import { compareDraft } from '../../src/features/drafts/compare.ts';
import { mergeDraft } from '../../src/features/drafts/merge.ts';

const [url = '', tenant = '', draft = '', name, number, when] = process.argv.slice(2);
const config = loadConfig({ DATABASE_URL: url, AUTH: 'none', ALLOW_UNAUTHENTICATED: 'true' });
const opened = await openDatabase(config);
const threads = new MergeThreads();
const approver = { type: 'operator', name: 'grace' } as const;

let seen = 0;
const database: Database = {
  ...opened,
  transaction: (work, options) =>
    opened.transaction((query) => {
      const killingQuery: QueryExecutor = (statement, params) => {
        if (statement.name !== name || ++seen < Number(number)) return query(statement, params);
        if (when === 'during') void query(statement, params).catch(() => {});
        setImmediate(() => process.kill(process.pid, 'SIGKILL'));
        return new Promise(() => {});
      };
      return work(killingQuery);
    }, options),
};
const ids = { tenant, draft };
const { review } = await compareDraft(database, threads, ids);
await mergeDraft(database, ids, new Map(), { config, threads, approver, review });
await threads.close();
await opened.close();
