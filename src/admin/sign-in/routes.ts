import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { OpenIdProvider, SignInError } from './provider.ts';
import { Sessions } from './sessions.ts';

const CALLBACK = '/sign-in/openid/callback';

/** The sign-in with OpenID Connect: its sessions and routes. */
export class SignIn {
  readonly sessions: Sessions;
  readonly #provider: OpenIdProvider;
  /** The URL of the console, as browsers reach it, without a slash at the end. */
  readonly #consoleUrl: string;

  constructor(config: Config) {
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
    this.sessions = new Sessions({ clientSecret, consoleUrl, hours: config.OIDC_SESSION_HOURS });
    this.#consoleUrl = consoleUrl;
  }

  /** Registers the routes. */
  readonly routes = async (app: FastifyInstance): Promise<void> => {
    const { sessions } = this;
    const schema = { hide: true };

    app.get('/sign-in/openid', { schema }, (request, reply) =>
      this.#orExplain(request, reply, async () => {
        const { url, pending } = await this.#provider.begin();
        return reply.header('Set-Cookie', await sessions.keepPending(pending)).redirect(url, 303);
      }),
    );

    app.get(CALLBACK, { schema }, (request, reply) =>
      this.#orExplain(request, reply, async () => {
        reply.header('Set-Cookie', sessions.endPending());
        const pending = await sessions.pending(request.headers.cookie);
        if (pending === undefined) throw new SignInError('failed');
        const { search } = new URL(request.url, this.#consoleUrl);
        const person = await this.#provider.complete(search, pending);
        request.logEntry.actor = person.actor.id;
        return reply.header('Set-Cookie', await sessions.begin(person)).redirect(`${this.#consoleUrl}/`, 303);
      }),
    );

    app.post('/sign-out', { schema }, (_request, reply) =>
      reply.header('Set-Cookie', sessions.end()).status(204).send(),
    );
  };

  /** Redirects to the console if a person cannot sign in. The console explains the reason. */
  async #orExplain(request: FastifyRequest, reply: FastifyReply, work: () => Promise<FastifyReply>) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      request.logEntry.outcome = `sign_in_${error.rejection}`;
      const { name, code } = (error.cause ?? {}) as { name?: string; code?: string };
      request.log.warn(
        { reqId: request.id, rejection: error.rejection, cause: name, code },
        'sign-in rejected',
      );
      return reply.redirect(`${this.#consoleUrl}/?sign_in=${error.rejection}`, 303);
    }
  }
}
