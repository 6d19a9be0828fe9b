/* Tables of the database. drizzle-kit writes the migrations from these tables. */

export * from './drafts.ts';
export * from './files.ts';
export * from './incidents.ts';
export * from './tenants.ts';
