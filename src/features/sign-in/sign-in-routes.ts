import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { deriveKey, requireInstallation } from '../../core/tenants/installation.ts';
import { EndedSessions } from './ended-sessions.ts';
import { OpenIdProvider, SignInError } from './provider.ts';
import { Sessions } from './sign-in-sessions.ts';

const CALLBACK = '/sign-in/openid/callback';

/** The sign-in with OpenID Connect: its sessions and routes. */
export class SignIn {
  readonly sessions: Sessions;
  readonly #provider: OpenIdProvider;
  /** The console's URL, as browsers reach it, without a slash at the end. */
  readonly #consoleUrl: string;

  constructor(config: Config, database: Database) {
    // The configuration requires these variables with `OIDC_ISSUER`.
    const { OIDC_ISSUER: issuer = '', OIDC_CLIENT_ID: clientId = '' } = config;
    const { OIDC_CLIENT_SECRET: clientSecret = '', CONSOLE_URL: consoleUrl = '' } = config;
    this.#provider = new OpenIdProvider({
      issuer,
      clientId,
      clientSecret,
      scope: config.OIDC_SCOPE,
      rolesClaim: config.OIDC_ROLES_CLAIM,
      roles: config.OIDC_ROLES,
      redirectUrl: `${consoleUrl}${CALLBACK}`,
    });
    this.sessions = new Sessions({
      consoleUrl,
      hours: config.OIDC_SESSION_HOURS,
      key: sessionKey(config, database),
      ended: new EndedSessions(database),
    });
    this.#consoleUrl = consoleUrl;
  }

  /** Registers the routes. */
  readonly routes = async (app: FastifyInstance): Promise<void> => {
    const { sessions } = this;
    const schema = { hide: true };

    app.get('/sign-in/openid', { schema }, (request, reply) =>
      this.#explainErrors(request, reply, async () => {
        const asksForAccount = await sessions.asksForAccount(request.headers.cookie);
        if (asksForAccount) reply.header('Set-Cookie', sessions.hasAskedForAccount());
        const { url, pending } = await this.#provider.begin({ asksForAccount });
        return reply.header('Set-Cookie', await sessions.keepPending(pending)).redirect(url, 303);
      }),
    );

    app.get(CALLBACK, { schema }, (request, reply) =>
      this.#explainErrors(request, reply, async () => {
        reply.header('Set-Cookie', sessions.endPending());
        const pending = await sessions.readPending(request.headers.cookie);
        if (pending === undefined) throw new SignInError('failed');
        const { search } = new URL(request.url, this.#consoleUrl);
        const person = await this.#provider.complete(search, pending);
        request.logEntry.actor = person.actor.id;
        return reply.header('Set-Cookie', await sessions.begin(person)).redirect(`${this.#consoleUrl}/`, 303);
      }),
    );

    app.post('/sign-out', { schema }, async (request, reply) => {
      reply.header('Set-Cookie', sessions.remove());
      await sessions.end(request.headers.cookie);
      return reply.status(204).send();
    });

    app.get('/sign-out/openid', { schema }, (request, reply) =>
      this.#explainErrors(request, reply, async () => {
        const url = await this.#provider.signOutUrl();
        return reply.redirect(url ?? `${this.#consoleUrl}/?sign_in=no_sign_out`, 303);
      }),
    );
  };

  /** Redirects to the console if a person cannot sign in. The console explains the reason. */
  async #explainErrors(request: FastifyRequest, reply: FastifyReply, work: () => Promise<FastifyReply>) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      request.logEntry.outcome = `sign_in_${error.rejection}`;
      request.log.warn(
        { reqId: request.id, rejection: error.rejection, ...error.details },
        'sign-in rejected',
      );
      // The provider would otherwise use the same account again without a question.
      if (error.rejection === 'no_role') reply.header('Set-Cookie', await this.sessions.askForAccount());
      return reply.redirect(`${this.#consoleUrl}/?sign_in=${error.rejection}`, 303);
    }
  }
}

/**
 * Returns the function that derives the session key. The key is bound to the installation and to all settings that
 * determine a person's access. A change to any of these ends all sessions.
 */
function sessionKey(config: Config, database: Database): () => Promise<Uint8Array> {
  let key: Promise<Uint8Array> | undefined;
  const derive = async () => {
    const { secret } = await requireInstallation(database.query, config);
    const { OIDC_CLIENT_SECRET, OIDC_ISSUER, OIDC_CLIENT_ID, CONSOLE_URL } = config;
    const { OIDC_ROLES_CLAIM, OIDC_ROLES } = config;
    const bound = [secret.toString('hex'), OIDC_CLIENT_SECRET, OIDC_ISSUER, OIDC_CLIENT_ID, CONSOLE_URL];
    const roles = [OIDC_ROLES_CLAIM, Object.entries(OIDC_ROLES).toSorted()];
    return deriveKey({ secret: Buffer.from(JSON.stringify([bound, roles])) }, 'console sessions');
  };
  return () => {
    key ??= derive().catch((error) => {
      key = undefined;
      throw error;
    });
    return key;
  };
}
