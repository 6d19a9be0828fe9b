import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { MergeThreads } from '../drafts/line-merge.ts';
import type { MemorySearch } from '../files/search/search.ts';
import type { PatchThreads } from '../history/patch.ts';
import type { Turns } from './turns.ts';

/** What the routes of the admin API work with. */
export interface AdminContext {
  config: Config;
  database: Database;
  search: MemorySearch;
  merges: MergeThreads;
  patches: PatchThreads;
  /** For statements that read much of a history: a few of them would take the database's cores from the agents. */
  scans: Turns;
}

const typed = (app: FastifyInstance) => app.withTypeProvider<ZodTypeProvider>();

/** Declares routes whose zod schemas validate what they take. */
export function adminRoutes(
  declare: (app: ReturnType<typeof typed>, context: AdminContext) => void,
): FastifyPluginAsync<AdminContext> {
  return async (app, context) => declare(typed(app), context);
}
