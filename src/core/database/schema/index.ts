/* Database tables. drizzle-kit writes the migrations from these tables. */

export * from './activity-tables.ts';
export * from './draft-tables.ts';
export * from './file-tables.ts';
export * from './incident-tables.ts';
export * from './log-tables.ts';
export * from './read-tables.ts';
export * from './sharing-tables.ts';
export * from './tenant-tables.ts';
export * from './webhook-tables.ts';
