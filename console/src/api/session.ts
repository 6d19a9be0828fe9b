import { computed, signal } from '@preact/signals';
import type { SessionInfo } from './types.ts';

const STORAGE_KEY = 'admin-key';

/** The session of this tab. It ends with the tab, because the key is kept in its session storage only. */
export const session = signal<SessionInfo | null>(null);
/** Why the last session ended, to say on the sign-in page. */
export const signedOutBecause = signal<string | null>(null);

export const canWrite = computed(() => session.value !== null && !session.value.read_only);
/** Keys, and tenants as a whole. */
export const canManage = computed(() => session.value?.access === 'read_write');
/** The only tenants that the session is for; null: all of them. */
export const onlyTenants = computed(() => session.value?.tenants ?? null);
/** Which tenants there are, for all of them. */
export const canManageFleet = computed(() => canManage.value && onlyTenants.value === null);

/** Whether the session is that of a key. */
export function isOfSession(keyId: string): boolean {
  const actor = session.value?.actor;
  return actor?.type === 'admin_key' && actor.id === keyId;
}

/** The page names its own key as it is called by now. */
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
