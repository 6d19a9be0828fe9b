import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Database } from '../../core/database/database.ts';
import { JOB_LOCKS } from '../../core/database/tenant-job.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { logUnrecorded } from '../../core/http/audit-intent.ts';
import { isObject } from '../../core/lib/json.ts';
import { runAudited } from '../../core/tenants/audit.ts';
import { ALL_KEYS, Keys } from '../../core/tenants/keys.ts';

const MAX_BODY_BYTES = 1024;

/**
 * The first admin key, created in the console through a link in the start log. The link works once, in this process,
 * and only if there was never an admin key. Otherwise a link in an old log would work again after the last key was
 * revoked or has expired.
 */
export class FirstKey {
  readonly #database: Database;
  readonly #token = randomBytes(24).toString('base64url');

  private constructor(database: Database) {
    this.#database = database;
  }

  /** Returns undefined if there is or was an admin key. */
  static async offer(database: Database): Promise<FirstKey | undefined> {
    return (await hasHadAdminKey(database)) ? undefined : new FirstKey(database);
  }

  /**
   * Returns the link. The token is in the fragment, which browsers do not send to servers.
   *
   * @param consoleUrl the console's URL
   */
  linkAt(consoleUrl: string): string {
    return `${consoleUrl}/#/first-key/${this.#token}`;
  }

  /** Registers the routes that the link's page calls: one checks the link, and the other creates the key. */
  readonly routes = async (app: FastifyInstance): Promise<void> => {
    app.post('/sign-in/first-key/check', { schema: { hide: true } }, async (request, reply) => {
      this.#requireToken(request);
      if (await hasHadAdminKey(this.#database)) throw new ServiceError('has_admin_key');
      return reply.status(204).send();
    });
    app.post('/sign-in/first-key', { schema: { hide: true }, bodyLimit: MAX_BODY_BYTES }, (request, reply) =>
      this.#create(request, reply),
    );
  };

  #requireToken({ body }: FastifyRequest): void {
    const given = isObject(body) ? body.token : undefined;
    if (typeof given !== 'string' || !isSame(given, this.#token)) throw new ServiceError('unauthorized');
  }

  async #create(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    this.#requireToken(request);
    const intent = {
      actor: { type: 'anonymous' },
      action: 'createKey',
      channel: 'console',
      address: request.ip,
      requestId: request.id,
      dryRun: false,
    } as const;
    const created = await runAudited(
      this.#database,
      intent,
      {},
      async (note) => {
        const key = await createFirst(this.#database);
        note({ key: key.id });
        return key;
      },
      { onUnrecorded: logUnrecorded(request) },
    );
    request.logEntry.key = created.id;
    return reply.status(201).send(created);
  }
}

const ACTOR = { type: 'system', job: 'first key' } as const;

/**
 * Creates an admin key with full access if there was never an admin key.
 *
 * @throws ServiceError 409 `has_admin_key`
 */
async function createFirst(database: Database): Promise<{ key: string; id: string }> {
  let created: { key: string; id: string } | undefined;
  // The lock stops two replicas' links from each creating a key.
  await database.withJobLock(JOB_LOCKS.firstKey, async () => {
    if (await hasHadAdminKey(database)) return;
    const purpose = { tenant: null, isAdmin: true, access: 'read_write', label: 'first key' } as const;
    created = await new Keys(database).issue({ ...purpose, expiresAt: null }, ACTOR);
  });
  if (created === undefined) throw new ServiceError('has_admin_key');
  return created;
}

/** Whether an admin key was ever created. Keys remain stored after they are revoked or expire. */
async function hasHadAdminKey(database: Database): Promise<boolean> {
  const { rows: keys } = await new Keys(database).page({ ...ALL_KEYS, kind: 'admin' }, null, 1);
  return keys.length > 0;
}

function isSame(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}
