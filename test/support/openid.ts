import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export const CLIENT = { id: 'memory-console', secret: 'a secret of the client' };

export interface OpenIdServer {
  issuer: string;
  close(): Promise<void>;
}

/**
 * Starts an OpenID Connect provider. Every account exists. Its name is its id, and its roles are the words in the
 * account after the first one, so `anna memory-admin` is Anna with the role `memory-admin`.
 *
 * @param consoleUrl console URL, to which the provider sends the browser back
 */
export async function startOpenId(consoleUrl: string): Promise<OpenIdServer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on('request', createProvider(issuer, consoleUrl).callback());
  return {
    issuer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns the variables for a console at `consoleUrl` whose sign-in uses the provider. */
export function openIdVariables(issuer: string, consoleUrl: string): Record<string, string> {
  return {
    ADMIN_PORT: new URL(consoleUrl).port,
    CONSOLE_URL: consoleUrl,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
    OIDC_ROLES_CLAIM: 'realm_access.roles',
  };
}

function createProvider(issuer: string, consoleUrl: string): Provider {
  return new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${consoleUrl}/sign-in/openid/callback`],
      },
    ],
    claims: { openid: ['sub', 'name', 'realm_access'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['key of the cookies'] },
    findAccount: (_context, sub) => {
      const [name, ...roles] = sub.split(' ');
      return { accountId: sub, claims: async () => ({ sub, name, realm_access: { roles } }) };
    },
    features: { devInteractions: { enabled: true } },
    pkce: { required: () => true },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  });
}
