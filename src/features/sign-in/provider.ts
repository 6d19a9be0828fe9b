import * as client from 'openid-client';
import type { Actor } from '../../core/memory/origin.ts';
import { ADMIN_ACCESS, type AdminAccess } from '../../core/variable-schemas.ts';

/** Sign-in settings for OpenID Connect (`OIDC_…` in docs/settings.md). */
export interface OpenIdOptions {
  issuer: string;
  clientId: string;
  clientSecret: string;
  scope: string;
  /** Name of the claim with the roles, or the names on the path to a nested claim, joined by dots. */
  rolesClaim: string;
  /** Each role's access. */
  roles: Readonly<Record<string, AdminAccess>>;
  /** The callback route's URL, as browsers reach it. */
  redirectUrl: string;
}

/** Random values for a sign-in. The browser keeps the values until the provider sends the browser back. */
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

/** Reason for rejecting a sign-in, which the console explains. */
export type SignInRejection = 'denied' | 'failed' | 'misconfigured' | 'no_role' | 'unreachable';

export class SignInError extends Error {
  override name = 'SignInError';
  readonly rejection: SignInRejection;
  /** Facts for the log, without secrets and without request parameters. */
  readonly details: Readonly<Record<string, string | number | undefined>>;

  constructor(rejection: SignInRejection, details: SignInError['details'] = {}) {
    super(`sign-in ${rejection}`);
    this.rejection = rejection;
    this.details = details;
  }
}

const TIMEOUT_SECONDS = 5;

/** An OpenID Connect provider: authorization code with PKCE, state, and nonce. */
export class OpenIdProvider {
  readonly #options: OpenIdOptions;
  /** Provider metadata, read at the first sign-in, so that the service starts without the provider. */
  #configuration: Promise<client.Configuration> | undefined;

  constructor(options: OpenIdOptions) {
    this.#options = options;
  }

  /**
   * Returns the URL at which the person signs in.
   *
   * @param options.asksForAccount whether the provider asks for the account, even if the person is signed in there
   * @throws SignInError `unreachable` or `misconfigured`
   */
  async begin(options: { asksForAccount: boolean }): Promise<{ url: string; pending: PendingSignIn }> {
    const configuration = await this.#discoverOnce();
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
      ...(options.asksForAccount && { prompt: 'select_account' }),
    });
    return { url: url.href, pending };
  }

  /**
   * Exchanges the code for the person's identity, and verifies the ID token with the provider's keys.
   *
   * @param search the callback's query, with its question mark
   * @throws SignInError
   */
  async complete(search: string, pending: PendingSignIn): Promise<Person> {
    const configuration = await this.#discoverOnce();
    const url = new URL(this.#options.redirectUrl);
    url.search = search;
    const tokens = await client
      .authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: pending.verifier,
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        idTokenExpected: true,
      })
      .catch(async (cause) => {
        throw await grantError(cause);
      });
    const claims = tokens.claims();
    if (claims === undefined) throw new SignInError('failed');
    const access = grantedAccess(claimedRoles(claims, this.#options.rolesClaim), this.#options.roles);
    if (access === undefined) throw new SignInError('no_role');
    return { actor: { type: 'user', id: claims.sub, label: personLabel(claims) }, access };
  }

  /** Returns the URL at which the person signs out of the provider. Undefined if the provider has no such URL. */
  async signOutUrl(): Promise<string | undefined> {
    const configuration = await this.#discoverOnce();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    return client.buildEndSessionUrl(configuration, {}).href;
  }

  #discoverOnce(): Promise<client.Configuration> {
    this.#configuration ??= discover(this.#options).catch((cause) => {
      this.#configuration = undefined;
      throw discoveryError(cause, this.#options.issuer);
    });
    return this.#configuration;
  }
}

function discover({ issuer, clientId, clientSecret }: OpenIdOptions): Promise<client.Configuration> {
  const url = new URL(issuer);
  const execute = [client.enableNonRepudiationChecks];
  // The configuration permits plain HTTP for a provider on the same machine only.
  if (url.protocol === 'http:') execute.push(client.allowInsecureRequests);
  const authentication = authenticationBy(clientSecret);
  return client.discovery(url, clientId, {}, authentication, { execute, timeout: TIMEOUT_SECONDS });
}

/** Sends the client secret by the first method that the provider offers. OpenID Connect's default is Basic. */
function authenticationBy(secret: string): client.ClientAuth {
  const methods = new Map<string, client.ClientAuth>([
    ['client_secret_basic', client.ClientSecretBasic(secret)],
    ['client_secret_post', client.ClientSecretPost(secret)],
    ['client_secret_jwt', client.ClientSecretJwt(secret)],
  ]);
  return (server, ...rest) => {
    const offered = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const [, authenticate] = [...methods].find(([name]) => offered.includes(name)) ?? [];
    if (authenticate === undefined)
      throw new SignInError('misconfigured', {
        detail: `The provider offers none of ${[...methods.keys()].join(', ')} at its token endpoint.`,
      });
    return authenticate(server, ...rest);
  };
}

/** Error codes in OAuth 2.0 and OpenID Connect. Other codes are not logged, because they may be parameters. */
const KNOWN_CODES: ReadonlySet<string> = new Set([
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'login_required',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
]);

const REJECTIONS: Readonly<Record<string, SignInRejection>> = {
  access_denied: 'denied',
  invalid_client: 'misconfigured',
  unauthorized_client: 'misconfigured',
  invalid_scope: 'misconfigured',
  unsupported_grant_type: 'misconfigured',
  unsupported_response_type: 'misconfigured',
  server_error: 'unreachable',
  temporarily_unavailable: 'unreachable',
};

/** Converts an error from the code exchange. */
async function grantError(cause: unknown): Promise<SignInError> {
  const inner = innermost(cause);
  if (inner instanceof SignInError) return inner;
  const error = await readProviderError(cause);
  const providerError = error === undefined || KNOWN_CODES.has(error) ? error : 'other';
  const status = responseStatus(cause);
  const isUnreachable = isTransport(cause) || (status !== undefined && isServerFault(status));
  const rejection = REJECTIONS[providerError ?? ''] ?? (isUnreachable ? 'unreachable' : 'failed');
  return new SignInError(rejection, { ...causeDetails(cause), providerError });
}

/** Returns the error code that the provider sent in the callback or in its token endpoint's response. */
async function readProviderError(cause: unknown): Promise<string | undefined> {
  if (cause instanceof client.AuthorizationResponseError || cause instanceof client.ResponseBodyError)
    return cause.error;
  // The library reads bodies only from responses with a 4xx status.
  const inner = innermost(cause);
  if (!(inner instanceof Response) || inner.bodyUsed) return undefined;
  const body = (await inner.json().catch(() => undefined)) as { error?: unknown } | undefined;
  return typeof body?.error === 'string' ? body.error : undefined;
}

/** Converts an error from the discovery. A provider that responds with something else is reachable. */
function discoveryError(cause: unknown, issuer: string): SignInError {
  const status = responseStatus(cause);
  if (isTransport(cause) || (status !== undefined && isServerFault(status)))
    return new SignInError('unreachable', causeDetails(cause));
  const { body } = (innermost(cause) ?? {}) as { body?: { issuer?: unknown } };
  const discovered = typeof body?.issuer === 'string' ? body.issuer.slice(0, MAX_ISSUER) : undefined;
  const problem =
    discovered === undefined
      ? 'Its URL does not respond with a valid OpenID Connect configuration.'
      : 'The OpenID Connect configuration at its URL names another issuer.';
  return new SignInError('misconfigured', {
    ...causeDetails(cause),
    issuer,
    discovered,
    detail: `OIDC_ISSUER must be the exact issuer of the provider. ${problem}`,
  });
}

/** Maximum issuer length in the log. */
const MAX_ISSUER = 500;

function causeDetails(cause: unknown): SignInError['details'] {
  const { name, code } = (cause ?? {}) as { name?: string; code?: string };
  const { claim } = (innermost(cause) ?? {}) as { claim?: string };
  return { cause: name, code, status: responseStatus(cause), claim };
}

/** Returns the innermost cause. Errors from the library wrap the response or the details. */
function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? innermost(error.cause) : error;
}

function responseStatus(cause: unknown): number | undefined {
  if (cause instanceof client.ResponseBodyError) return cause.status;
  const inner = innermost(cause);
  return inner instanceof Response ? inner.status : undefined;
}

function isServerFault(status: number): boolean {
  return status >= 500 || status === 429;
}

/** Whether an error means that the provider did not respond. */
function isTransport(error: unknown): boolean {
  if (error instanceof client.ClientError) return /TIMEOUT|FETCH/.test(error.code ?? '');
  return error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * Returns a claim's values: an array of texts, or one text. The name is a claim's name, or a path with names joined by
 * dots. A name in the path may contain dots itself, such as a client's ID.
 */
export function claimedRoles(claims: Claims, name: string): string[] {
  return [valueAt(claims, name.split('.'))].flat().filter((each) => typeof each === 'string');
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  if (path.length === 0) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  // The longest name takes precedence over a path with shorter names.
  for (let length = path.length; length > 0; length--) {
    const name = path.slice(0, length).join('.');
    if (!Object.hasOwn(value, name)) continue;
    const found = valueAt((value as Claims)[name], path.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the highest access that the roles give, or undefined if no role gives access. */
export function grantedAccess(
  held: readonly string[],
  roles: OpenIdOptions['roles'],
): AdminAccess | undefined {
  return ADMIN_ACCESS.findLast((level) =>
    held.some((role) => Object.hasOwn(roles, role) && roles[role] === level),
  );
}

function personLabel(claims: Claims): string {
  const { name, preferred_username: username, email } = claims;
  return ([name, username, email].find((each) => typeof each === 'string' && each !== '') as string) ?? '';
}
