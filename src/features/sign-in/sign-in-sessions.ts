import { randomUUID } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import { z } from 'zod';
import { ServiceError } from '../../core/errors/errors.ts';
import type { AdminAuthenticator, Administrator } from '../../core/tenants/authenticator.ts';
import type { Credentials } from '../../core/tenants/principal.ts';
import { ADMIN_ACCESS } from '../../core/variable-schemas.ts';
import type { EndedSessions } from './ended-sessions.ts';
import type { PendingSignIn, Person } from './provider.ts';

/** Time for a person to sign in at the provider, or to try again with another account. */
const PENDING_SECONDS = 600;

const session = z.object({
  actor: z.object({ type: z.literal('user'), id: z.string(), label: z.string() }),
  access: z.enum(ADMIN_ACCESS),
  jti: z.uuid(),
  exp: z.number(),
});
const pending = z.object({ state: z.string(), nonce: z.string(), verifier: z.string() });
const otherAccount = z.object({});

export interface SessionOptions {
  consoleUrl: string;
  hours: number;
  /** Returns the key for the cookies. The key must differ between installations and between sign-in settings. */
  key: () => Promise<Uint8Array>;
  ended: Pick<EndedSessions, 'add' | 'has'>;
}

/** Console sessions in encrypted cookies, which every replica can read. */
export class Sessions {
  readonly #key: () => Promise<Uint8Array>;
  readonly #ended: SessionOptions['ended'];
  readonly #path: string;
  readonly #isSecure: boolean;
  readonly #seconds: number;

  constructor({ consoleUrl, hours, key, ended }: SessionOptions) {
    const url = new URL(consoleUrl);
    this.#isSecure = url.protocol === 'https:';
    this.#path = url.pathname;
    this.#seconds = hours * 3600;
    this.#key = key;
    this.#ended = ended;
  }

  /** Returns the `Set-Cookie` header that begins a session. */
  async begin(signedIn: Person): Promise<string> {
    return this.#cookie(
      'session',
      await this.#seal('session', { ...signedIn, jti: randomUUID() }, this.#seconds),
      this.#seconds,
    );
  }

  /** Returns the `Set-Cookie` header that removes the session from a browser. */
  remove(): string {
    return this.#cookie('session', '', 0);
  }

  /** Ends a browser's session, so that copies of its cookie are rejected too. */
  async end(cookies: string | undefined): Promise<void> {
    const ending = await this.#open('session', cookies, session);
    if (ending !== undefined) await this.#ended.add(ending.jti, new Date(ending.exp * 1000));
  }

  /** Returns the `Set-Cookie` header after which the browser's next sign-in asks for an account. */
  async askForAccount(): Promise<string> {
    return this.#cookie('account', await this.#seal('account', {}, PENDING_SECONDS), PENDING_SECONDS);
  }

  async asksForAccount(cookies: string | undefined): Promise<boolean> {
    return (await this.#open('account', cookies, otherAccount)) !== undefined;
  }

  /** Returns the `Set-Cookie` header for a sign-in that has asked for an account. */
  hasAskedForAccount(): string {
    return this.#cookie('account', '', 0);
  }

  /** Returns the `Set-Cookie` header that keeps a sign-in's values. */
  async keepPending(values: PendingSignIn): Promise<string> {
    const sealed = await this.#seal('pending', { ...values }, PENDING_SECONDS);
    return this.#cookie('pending', sealed, PENDING_SECONDS);
  }

  endPending(): string {
    return this.#cookie('pending', '', 0);
  }

  readPending(cookies: string | undefined): Promise<PendingSignIn | undefined> {
    return this.#open('pending', cookies, pending);
  }

  /** @throws ServiceError 401 without a valid session */
  async authenticate({ headers }: Credentials): Promise<Administrator> {
    // A page from another origin cannot send this header, because the admin API permits no other origins.
    if (headers[CONSOLE_HEADER] === undefined) throw new ServiceError('unauthorized');
    const signedIn = await this.#open('session', headers.cookie, session);
    if (signedIn === undefined || (await this.#ended.has(signedIn.jti)))
      throw new ServiceError('unauthorized');
    const { actor, access, exp } = signedIn;
    return { actor, access, onlyTenants: null, expiresAt: performance.now() + exp * 1000 - Date.now() };
  }

  /** Returns an authenticator that accepts sessions in addition to keys. A key in the header precedes the session. */
  combineWith(keys: AdminAuthenticator): AdminAuthenticator {
    return {
      authenticate: (credentials) =>
        credentials.headers.authorization === undefined && credentials.headers.cookie !== undefined
          ? this.authenticate(credentials)
          : keys.authenticate(credentials),
      close: () => keys.close(),
    };
  }

  async #seal(kind: Kind, payload: Record<string, unknown>, seconds: number): Promise<string> {
    return new EncryptJWT(payload)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setAudience(kind)
      .setExpirationTime(`${seconds} s`)
      .encrypt(await this.#key());
  }

  /** Returns undefined for a missing, altered, or expired cookie. */
  async #open<T>(kind: Kind, cookies: string | undefined, schema: z.ZodType<T>): Promise<T | undefined> {
    const sealed = parseCookie(cookies ?? '')[this.#name(kind)];
    if (sealed === undefined || sealed === '') return undefined;
    try {
      const { payload } = await jwtDecrypt(sealed, await this.#key(), { audience: kind });
      return schema.parse(payload);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  #cookie(kind: Kind, value: string, maxAge: number): string {
    return stringifySetCookie({
      name: this.#name(kind),
      value,
      maxAge,
      path: this.#path,
      httpOnly: true,
      secure: this.#isSecure,
      // The provider sends the browser back from another site, and only `lax` cookies are sent then.
      sameSite: kind === 'session' ? 'strict' : 'lax',
    });
  }

  /**
   * Browsers accept the prefix only for secure cookies. Without the prefix, a page on a related host could set the
   * cookie.
   */
  #name(kind: Kind): string {
    const prefix = !this.#isSecure ? '' : this.#path === '/' ? '__Host-' : '__Secure-';
    return `${prefix}console_${kind}`;
  }
}

type Kind = 'session' | 'pending' | 'account';

/** Header on each console request, in lower case. A request with a session needs this header. */
const CONSOLE_HEADER = 'x-memory-console';
