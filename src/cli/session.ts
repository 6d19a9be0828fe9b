import type { Config } from '../config.ts';
import { OperatorError, ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';

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
    throw error instanceof ServiceError ? new OperatorError(error.message) : error;
  } finally {
    await session.database.close();
  }
}
