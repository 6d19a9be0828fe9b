import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { MergeThreads } from '../drafts/line-merge.ts';
import type { Services } from '../files/services.ts';
import type { PatchThreads } from '../history/patch.ts';
import type { HeavyWork } from './heavy-work.ts';

/** What the routes of the admin API work with. */
export interface AdminContext {
  config: Config;
  database: Database;
  services: Services;
  merges: MergeThreads;
  patches: PatchThreads;
  /** The one limiter of the listener: heavy work would take the database's cores from the agents. */
  heavyWork: HeavyWork;
}

const typed = (app: FastifyInstance) => app.withTypeProvider<ZodTypeProvider>();

/** Declares routes whose zod schemas validate what they take. */
export function adminRoutes(
  declare: (app: ReturnType<typeof typed>, context: AdminContext) => void,
): FastifyPluginAsync<AdminContext> {
  return async (app, context) => declare(typed(app), context);
}
