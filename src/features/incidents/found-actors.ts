import type { Database } from '../../core/database/database.ts';
import { defineQuery } from '../../core/database/query.ts';
import { type Actor, originActor, storedActor } from '../../core/memory/origin.ts';
import type { Hit } from './find.ts';

/** Hits by an actor in a tenant. */
interface TenantActor {
  actor: Actor;
  hits: number;
  /** Number of files whose oldest hit is a version by the actor. */
  files: number;
  /** Time of the oldest hit, in ISO 8601. */
  since: string;
}

/** Hits by an actor in all tenants. */
export interface FoundActor extends TenantActor {
  /** Number of tenants with hits by the actor. */
  tenants: number;
}

/** Limit on actors that are stored for a tenant, and on actors in a response. */
export const MAX_ACTORS = 100;
/** Limit on actors in memory. Hits by further actors are not counted by actor. */
const MAX_COUNTED = 10_000;

/** Counts a tenant's hits by actor. A file's hits must follow each other, newest first. */
export class FoundActors {
  readonly #actors = new Map<string, TenantActor>();
  #file: string | null = null;
  #oldest: TenantActor | undefined;

  add({ draft, memoryId, origin, at }: Hit): void {
    if (memoryId === null || at === null) return;
    const file = `${draft ?? ''} ${memoryId}`;
    if (file !== this.#file) this.#countFile();
    this.#file = file;
    this.#oldest = this.#find(originActor(origin), at);
    if (this.#oldest === undefined) return;
    this.#oldest.hits++;
    if (at < this.#oldest.since) this.#oldest.since = at;
  }

  /** Returns the actors to store, after the last hit. */
  list(): TenantActor[] {
    this.#countFile();
    const sorted = [...this.#actors.values()].sort((a, b) => b.files - a.files || b.hits - a.hits);
    return sorted.slice(0, MAX_ACTORS);
  }

  #countFile(): void {
    if (this.#oldest !== undefined) this.#oldest.files++;
    this.#oldest = undefined;
  }

  #find(actor: Actor, since: string): TenantActor | undefined {
    const stored = storedActor(actor);
    const known = this.#actors.get(stored);
    if (known !== undefined || this.#actors.size >= MAX_COUNTED) return known;
    const added = { actor: JSON.parse(stored) as Actor, hits: 0, files: 0, since };
    this.#actors.set(stored, added);
    return added;
  }
}

/** Adds up the tenants' actors. A key that was renamed is one actor. */
const listActorsQuery = defineQuery<{ job: string; scope: string[] | null; limit: number }, FoundActor>(
  'list_found_actors',
  `
SELECT max((a.value -> 'actor')::text)::jsonb AS actor, sum((a.value ->> 'hits')::float8) AS hits,
  sum((a.value ->> 'files')::float8) AS files, min(a.value ->> 'since') AS since,
  count(DISTINCT o.tenant_id)::float8 AS tenants
FROM job_outcomes AS o, jsonb_array_elements(o.details -> 'actors') AS a (value)
WHERE o.job_id = $job::text::uuid AND ($scope::text[] IS NULL OR o.tenant_id = ANY ($scope::text[]))
GROUP BY (a.value -> 'actor') - '{label,source}'::text[]
ORDER BY 3 DESC, 2 DESC, 4 LIMIT $limit::bigint
`,
);

/**
 * Lists the actors whose versions contain a find's text, those who wrote it first into most files first.
 *
 * @param scope tenants to which the job is limited; null for all
 */
export async function listFoundActors(
  database: Database,
  job: string,
  scope: string[] | null,
): Promise<FoundActor[]> {
  return (await database.query(listActorsQuery, { job, scope, limit: MAX_ACTORS })).rows;
}
