import type { Language } from '../memory/messages.ts';
import type { Mount } from '../memory/mount.ts';
import type { Origin } from '../memory/origin.ts';
import type { TenantPolicy } from '../tenants/policy-cache.ts';
import type { Principal } from '../tenants/principal.ts';

/** One call to the tool, with its caller and settings. The request's deadline applies to the call. */
export interface Call {
  principal: Principal;
  /** Settings for the caller's tenant. */
  policy: TenantPolicy;
  /** The caller's IP address. */
  ip: string;
  language: Language;
  requestId: string;
  toolUseId: string | undefined;
  /** A write with this key applies once. */
  idempotencyKey: string | undefined;
  /** Whether the result says who wrote each line last. */
  wantsProvenance: boolean;
  /** Opens a mount with `propose`: returns a mount that shows the caller's draft, which is created if none is open. */
  openDraft(mount: Mount): Promise<Mount>;
}

/** Returns the origin that the history records for changes by a call. */
export function callOrigin({
  principal,
  requestId,
  toolUseId,
}: Pick<Call, 'principal' | 'requestId' | 'toolUseId'>): Origin {
  return { actor: principal.actor, requestId, toolUseId };
}
