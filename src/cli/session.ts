import type { Config } from '../config.ts';
import { OperatorError, ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';

/** Opens the database that the environment configures. */
export type Open = () => Promise<{ config: Config; database: Database }>;

/** Runs a command's work on the database and always closes it. */
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
