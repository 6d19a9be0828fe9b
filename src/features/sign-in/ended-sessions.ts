import type { Database } from '../../core/database/database.ts';
import { defineQuery } from '../../core/database/query.ts';

const endSessionQuery = defineQuery<{ id: string; expiresAt: string }>(
  'end_session',
  `
INSERT INTO ended_sessions (id, expires_at) VALUES ($id::text::uuid, $expiresAt::timestamptz)
ON CONFLICT (id) DO NOTHING
`,
);

const forgetEndedSessionsQuery = defineQuery<{ now: string }>(
  'forget_ended_sessions',
  'DELETE FROM ended_sessions WHERE expires_at < $now::timestamptz',
);

const hasSessionEndedQuery = defineQuery<{ id: string }>(
  'has_session_ended',
  'SELECT id FROM ended_sessions WHERE id = $id::text::uuid',
);

/**
 * Sessions that a sign-out ended before their cookie expires. The cookie itself cannot be withdrawn: a copy would
 * remain valid.
 */
export class EndedSessions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(id: string, expiresAt: Date): Promise<void> {
    await this.#database.query(forgetEndedSessionsQuery, { now: new Date().toISOString() });
    await this.#database.query(endSessionQuery, { id, expiresAt: expiresAt.toISOString() });
  }

  /** Not cached, so that a sign-out takes effect on every replica immediately. */
  async has(id: string): Promise<boolean> {
    return (await this.#database.query(hasSessionEndedQuery, { id })).rows.length > 0;
  }
}
