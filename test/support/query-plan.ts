import type pg from 'pg';
import type { Query, Value } from '../../src/core/database/query.ts';

/** A plan node, as EXPLAIN (FORMAT JSON) prints it. */
export interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  Plans?: Plan[];
  [detail: string]: unknown;
}

/**
 * Returns a statement's generic plan. The statement is prepared first, because EXPLAIN supports GENERIC_PLAN only since
 * Postgres 16.
 */
export async function genericPlan(
  client: pg.Client,
  { sql, parameters }: Pick<Query<Record<string, Value>, unknown>, 'sql' | 'parameters'>,
): Promise<Plan> {
  await client.query('SET plan_cache_mode = force_generic_plan');
  await client.query(`PREPARE planned AS ${sql}`);
  const values = parameters.length === 0 ? '' : `(${parameters.map(() => 'NULL').join(', ')})`;
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE planned ${values}`);
  await client.query('DEALLOCATE planned');
  return rows[0]['QUERY PLAN'][0].Plan;
}

/** Yields the nodes in a plan that read rows from a table. */
export function* tableScans(plan: Plan): Generator<Plan> {
  if (plan['Relation Name'] !== undefined && plan['Node Type'] !== 'ModifyTable') yield plan;
  for (const child of plan.Plans ?? []) yield* tableScans(child);
}

/** Returns the plans for the statements that a database function runs, as auto_explain reports them. */
export async function nestedPlans(client: pg.Client, sql: string, values: unknown[]): Promise<Plan[]> {
  await client.query(`LOAD 'auto_explain';
    SET auto_explain.log_min_duration = 0;
    SET auto_explain.log_nested_statements = on;
    SET auto_explain.log_format = json;
    SET auto_explain.log_level = notice`);
  const plans: Plan[] = [];
  const listen = ({ message }: { message?: string | undefined }) => {
    const json = /plan:\n(\{.*\})$/s.exec(message ?? '')?.[1];
    if (json !== undefined) plans.push(JSON.parse(json).Plan);
  };
  client.on('notice', listen);
  await client.query(sql, values);
  client.off('notice', listen);
  await client.query('SET auto_explain.log_min_duration = -1');
  return plans;
}
