import pg from 'pg';
import type { Run } from './statement.ts';

/** Times come as Postgres writes them, as drizzle wants them too: a `Date` would drop their microseconds. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.TIMESTAMPTZ ? (text: string) => text : pg.types.getTypeParser(oid, format),
};

/**
 * A statement that a connection prepares the first time. pg takes a configuration object apart property by property, and drizzle
 * wraps each call in several promises: both together cost as much as the statement itself.
 */
class PreparedQuery extends pg.Query {
  declare name: string;
  declare values: unknown[];

  constructor(name: string, text: string, values: unknown[]) {
    super(text);
    this.name = name;
    this.values = values;
  }
}

type Send = (query: pg.Query) => Promise<pg.QueryResult>;

/** Runs statements by `send`. */
export function runnerOn(send: Send): Run {
  return async ({ name, sql, parameters }, params) => {
    const values = parameters.map((parameter) => params[parameter]);
    const { rows, rowCount } = await send(new PreparedQuery(name, sql, values));
    return { rows, count: rowCount ?? 0 };
  };
}

/**
 * Sends on a connection, which would not answer with a promise.
 *
 * @param onAnswer called at each answer and each fault
 */
export function sendOn(client: pg.ClientBase, onAnswer?: () => void): Send {
  return (query) =>
    new Promise((resolve, reject) => {
      const callback = (error: Error | null, result: pg.QueryResult) => {
        onAnswer?.();
        if (error === null) resolve(result);
        else reject(error);
      };
      client.query(Object.assign(query, { callback }));
    });
}
