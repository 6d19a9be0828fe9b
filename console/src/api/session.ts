import { computed, signal } from '@preact/signals';
import type { SessionInfo } from './types.ts';

const STORAGE_KEY = 'admin-key';

/** The session of this tab. Closing the tab ends the session, because session storage alone holds the key. */
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
export function isOfSession(keyId: string): boolean {
  const actor = session.value?.actor;
  return actor?.type === 'admin_key' && actor.id === keyId;
}

/** Updates the label of the session's key after the key was renamed. */
export function relabelSession(label: string): void {
  const info = session.value;
  if (info?.actor.type === 'admin_key') session.value = { ...info, actor: { ...info.actor, label } };
}

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
