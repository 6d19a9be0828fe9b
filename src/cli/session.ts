import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { CliError } from './errors.ts';

/** The database that a command works on, as the environment configures it. */
export type Open = () => Promise<{ config: Config; database: Database }>;

/** Runs a command's work on the opened database, and closes it whatever happens. */
export async function withDatabase<T>(
  open: Open,
  work: (session: { config: Config; database: Database }) => Promise<T>,
): Promise<T> {
  const session = await open();
  try {
    return await work(session);
  } catch (error) {
    throw error instanceof ServiceError ? new CliError(error.message) : error;
  } finally {
    await session.database.close();
  }
}
