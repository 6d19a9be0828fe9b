import { computed, signal } from '@preact/signals';
import type { SessionInfo } from './api-types.ts';

const STORAGE_KEY = 'admin-key';

/**
 * This tab's session. With an admin key, closing the tab ends the session, because session storage alone holds the key.
 * A person who signed in with OpenID Connect has a session in a cookie, which all tabs share.
 */
export const session = signal<SessionInfo | null>(null);
/** Reason why the last session ended, shown on the sign-in page. */
export const signedOutBecause = signal<string | null>(null);

export const canWrite = computed(() => session.value !== null && !session.value.read_only);
/** Whether the session may create, change, and delete keys and tenants. */
export const canManage = computed(() => session.value?.access === 'read_write');
/** Tenants that the session is limited to; null means all. */
export const onlyTenants = computed(() => session.value?.tenants ?? null);
/** Whether the session may create, rename, copy, and delete any tenant. */
export const canManageFleet = computed(() => canManage.value && onlyTenants.value === null);

/** Whether the session uses the key `keyId`. */
export function isSessionKey(keyId: string): boolean {
  const actor = session.value?.actor;
  return actor?.type === 'admin_key' && actor.id === keyId;
}

/** Updates the label for the session's key after the key was renamed. */
export function relabelSession(label: string): void {
  const info = session.value;
  if (info?.actor.type === 'admin_key') session.value = { ...info, actor: { ...info.actor, label } };
}

/** Whether the session is in a cookie. */
export const isSignedIn = computed(() => session.value?.actor.type === 'user');

export function storedKey(): string | null {
  return sessionStorage.getItem(STORAGE_KEY);
}

export function storeKey(key: string): void {
  sessionStorage.setItem(STORAGE_KEY, key);
}

export function endSession(because: string | null): void {
  sessionStorage.removeItem(STORAGE_KEY);
  session.value = null;
  signedOutBecause.value = because;
}

/** Whether this page has ended a session with an account, which may still be signed in at the provider. */
export const hasLeftAccount = signal(false);

/** Ends the session when the user asks for it. */
export async function signOut(): Promise<void> {
  const isWithAccount = isSignedIn.value;
  if (isWithAccount) await fetch('sign-out', { method: 'POST' });
  endSession(null);
  hasLeftAccount.value = isWithAccount;
}

/** Whether the service offers a sign-in with OpenID Connect. */
export async function hasOpenId(): Promise<boolean> {
  const response = await fetch('sign-in/methods');
  return response.ok && (await response.json()).openid === true;
}

const REJECTIONS: Record<string, string> = {
  denied: 'Your provider rejected the sign-in.',
  failed: 'The sign-in failed or took too long. Try again.',
  misconfigured:
    'The sign-in is not configured correctly. Ask the operator of this service: its log has the reason.',
  no_sign_out: 'Your provider has no sign-out for this console. Sign out in your account there.',
  no_role: 'You have no role for this console. Ask the person who manages your accounts for one.',
  unreachable: 'Your provider cannot be reached. Try again later, or sign in with an admin key.',
};

/** Storage key for the page to open again after the sign-in. Its value is a URL fragment. */
const RETURN_KEY = 'return-to';

/** Leaves the console for the provider. */
export function openProvider(): void {
  sessionStorage.setItem(RETURN_KEY, location.hash);
  location.assign('sign-in/openid');
}

/** Reads the sign-in result from the URL: keeps a rejection, and returns to the page before the sign-in. */
export function readSignIn(): void {
  const rejection = new URLSearchParams(location.search).get('sign_in');
  if (rejection !== null) {
    signedOutBecause.value = REJECTIONS[rejection] ?? null;
    history.replaceState(history.state, '', `${location.pathname}${location.hash}`);
  }
  const returnTo = sessionStorage.getItem(RETURN_KEY) ?? '';
  sessionStorage.removeItem(RETURN_KEY);
  if (location.hash === '' && returnTo !== '') location.replace(returnTo);
}
