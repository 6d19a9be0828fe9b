import * as client from 'openid-client';
import { ADMIN_ACCESS, type AdminAccess } from '../../config.ts';
import type { Actor } from '../../memory/origin.ts';

/** The settings of the sign-in with OpenID Connect (`OIDC_…` in docs/configuration.md). */
export interface OpenIdOptions {
  issuer: string;
  clientId: string;
  clientSecret: string;
  scope: string;
  /** Name of the claim with the roles, or the names on the path to a nested claim, separated by dots. */
  rolesClaim: string;
  /** The access of each role. */
  roles: Readonly<Record<string, AdminAccess>>;
  /** The URL of the callback route, as browsers reach it. */
  redirectUrl: string;
}

/** Random values of a sign-in. The browser keeps them until the provider sends it back. */
export interface PendingSignIn {
  state: string;
  nonce: string;
  verifier: string;
}

/** A person who signed in. */
export interface Person {
  actor: Extract<Actor, { type: 'user' }>;
  access: AdminAccess;
}

/** Reason of a rejected sign-in, which the console explains. */
export type SignInRejection = 'denied' | 'failed' | 'no_role' | 'unreachable';

export class SignInError extends Error {
  override name = 'SignInError';
  readonly rejection: SignInRejection;

  constructor(rejection: SignInRejection, cause?: unknown) {
    super(`sign-in ${rejection}`, { cause });
    this.rejection = rejection;
  }
}

const TIMEOUT_SECONDS = 5;

/** An OpenID Connect provider: authorization code with PKCE, state, and nonce. */
export class OpenIdProvider {
  readonly #options: OpenIdOptions;
  /** Metadata of the provider, read at the first sign-in, so that the service starts without the provider. */
  #configuration: Promise<client.Configuration> | undefined;

  constructor(options: OpenIdOptions) {
    this.#options = options;
  }

  /**
   * Returns the URL at which the person signs in.
   *
   * @throws SignInError `unreachable`
   */
  async begin(): Promise<{ url: string; pending: PendingSignIn }> {
    const configuration = await this.#discovered();
    const pending: PendingSignIn = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#options.redirectUrl,
      scope: this.#options.scope,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, pending };
  }

  /**
   * Exchanges the code for the person's identity, and verifies the ID token with the keys of the provider.
   *
   * @param search the query of the callback, with its question mark
   * @throws SignInError
   */
  async complete(search: string, pending: PendingSignIn): Promise<Person> {
    const configuration = await this.#discovered();
    const url = new URL(this.#options.redirectUrl);
    url.search = search;
    const tokens = await client
      .authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: pending.verifier,
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        idTokenExpected: true,
      })
      .catch((cause) => {
        const isDenied =
          cause instanceof client.AuthorizationResponseError && cause.error === 'access_denied';
        throw new SignInError(isDenied ? 'denied' : isTransport(cause) ? 'unreachable' : 'failed', cause);
      });
    const claims = tokens.claims();
    if (claims === undefined) throw new SignInError('failed');
    const access = accessOf(rolesOf(claims, this.#options.rolesClaim), this.#options.roles);
    if (access === undefined) throw new SignInError('no_role');
    return { actor: { type: 'user', id: claims.sub, label: labelOf(claims) }, access };
  }

  #discovered(): Promise<client.Configuration> {
    this.#configuration ??= discover(this.#options).catch((cause) => {
      this.#configuration = undefined;
      throw new SignInError('unreachable', cause);
    });
    return this.#configuration;
  }
}

function discover({ issuer, clientId, clientSecret }: OpenIdOptions): Promise<client.Configuration> {
  const url = new URL(issuer);
  const execute = [client.enableNonRepudiationChecks];
  // The configuration permits plain HTTP for a provider on the same machine only.
  if (url.protocol === 'http:') execute.push(client.allowInsecureRequests);
  const authentication = client.ClientSecretBasic(clientSecret);
  return client.discovery(url, clientId, {}, authentication, { execute, timeout: TIMEOUT_SECONDS });
}

/** Whether an error means that the provider did not respond, or responded with a server error. */
function isTransport(error: unknown): boolean {
  if (error instanceof client.ClientError) return /TIMEOUT|FETCH/.test(error.code ?? '');
  return error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');
}

type Claims = Readonly<Record<string, unknown>>;

/** Returns the values of a claim: an array of texts, or one text. The exact name precedes a path of names. */
export function rolesOf(claims: Claims, name: string): string[] {
  const value = Object.hasOwn(claims, name)
    ? claims[name]
    : name
        .split('.')
        .reduce<unknown>(
          (each, key) =>
            typeof each === 'object' && each !== null && Object.hasOwn(each, key)
              ? (each as Claims)[key]
              : undefined,
          claims,
        );
  return [value].flat().filter((each) => typeof each === 'string');
}

/** Returns the highest access of the roles, or undefined if no role gives access. */
export function accessOf(held: readonly string[], roles: OpenIdOptions['roles']): AdminAccess | undefined {
  return ADMIN_ACCESS.findLast((level) =>
    held.some((role) => Object.hasOwn(roles, role) && roles[role] === level),
  );
}

function labelOf(claims: Claims): string {
  const { name, preferred_username: username, email } = claims;
  return ([name, username, email].find((each) => typeof each === 'string' && each !== '') as string) ?? '';
}
