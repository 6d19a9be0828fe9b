import type { Database } from '../../src/core/database/database.ts';

/** Records the names of the statements that a database receives. */
export function recordNames(database: Database): { database: Database; names: string[] } {
  const names: string[] = [];
  const query: Database['query'] = (definition, params) => {
    names.push(definition.name);
    return database.query(definition, params);
  };
  return { database: Object.create(database, { query: { value: query } }), names };
}
