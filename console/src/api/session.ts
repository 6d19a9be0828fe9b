import { computed, signal } from '@preact/signals';
import type { SessionInfo } from './types.ts';

const STORAGE_KEY = 'admin-key';

/** The session of this tab. It ends with the tab, because the key is kept in its session storage only. */
export const session = signal<SessionInfo | null>(null);
/** Why the last session ended, to say on the sign-in page. */
export const signedOutBecause = signal<string | null>(null);

export const canWrite = computed(() => session.value !== null && !session.value.read_only);
/** Keys, and which tenants there are. */
export const canManage = computed(() => session.value?.access === 'read_write');
/** The only tenants that the session is for; null: all of them. */
export const onlyTenants = computed(() => session.value?.tenants ?? null);

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
