import type { Language } from '../memory/messages.ts';
import type { Origin } from '../memory/origin.ts';
import type { TenantPolicy } from '../tenants/policy-cache.ts';
import type { Principal } from '../tenants/principal.ts';

/** One call of the tool: who makes it, and what holds for it. Its deadline is that of its request. */
export interface Call {
  principal: Principal;
  /** Of the caller's tenant. */
  policy: TenantPolicy;
  /** The address of the caller. */
  ip: string;
  language: Language;
  requestId: string;
  toolUseId: string | undefined;
  /** A write under it applies once. */
  idempotencyKey: string | undefined;
}

/** What the history says of the changes of a call. */
export function originOf({ principal, requestId, toolUseId }: Call): Origin {
  return { actor: principal.actor, requestId, toolUseId };
}
