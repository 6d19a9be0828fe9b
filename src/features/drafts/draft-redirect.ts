import type { FastifyRequest } from 'fastify';
import type { Redirect } from '../../core/agents/redirect.ts';
import { hasReason } from '../../core/errors/errors.ts';
import type { RequestContext } from '../../core/http/authentication.ts';
import type { Mount } from '../../core/memory/mount.ts';
import type { TenantPolicyCache } from '../../core/tenants/policy-cache.ts';
import type { Proposals } from './proposals.ts';

/**
 * Redirects requests with propose-only keys to the key's draft. Writes always use the draft, which the first write
 * creates. Reads use the draft if it exists, and otherwise the tenant, which the key cannot change.
 */
export class DraftRedirect implements Redirect {
  readonly #proposals: Proposals;
  readonly #policies: TenantPolicyCache;

  constructor(proposals: Proposals, policies: TenantPolicyCache) {
    this.#proposals = proposals;
    this.#policies = policies;
  }

  async forRead(request: FastifyRequest, context: RequestContext): Promise<RequestContext> {
    try {
      return await this.#toOpenDraft(request, context);
    } catch (error) {
      if (!hasReason(error, 'unknown_tenant')) throw error;
      // The draft was closed between the draft lookup and the policy lookup, so the lookup is repeated.
      return this.#toOpenDraft(request, context);
    }
  }

  /** @throws ServiceError if the tenant has the maximum number of drafts */
  async forWrite(request: FastifyRequest, context: RequestContext): Promise<RequestContext> {
    return this.#toDraft(request, context, await this.#openDraft(context));
  }

  /** Opens a new draft if a reviewer has closed the draft that a failed write used. */
  async afterError(
    request: FastifyRequest,
    context: RequestContext,
    error: unknown,
  ): Promise<RequestContext | undefined> {
    const { tenant, draftOf } = context.principal;
    if (draftOf === undefined || !isClosed(error)) return undefined;
    const draft = await this.#openDraft(context);
    if (draft === tenant) return undefined;
    const principal = { ...context.principal, tenant: draftOf };
    return this.#toDraft(request, { ...context, principal }, draft);
  }

  async #toOpenDraft(request: FastifyRequest, context: RequestContext): Promise<RequestContext> {
    const { principal, policy } = context;
    const { tenant, proposesAs = '' } = principal;
    const draft = await this.#proposals.find(tenant, proposesAs);
    if (draft !== null) return this.#toDraft(request, context, draft);
    return {
      principal: { ...principal, access: 'read_only' },
      policy: { ...policy, mounts: readOnly(policy.mounts) },
    };
  }

  /** Returns a propose-only key's open draft, and creates a draft if none is open. */
  #openDraft({ principal }: RequestContext): Promise<string> {
    return this.#proposals.findOrMake({
      ...principal,
      tenant: principal.draftOf ?? principal.tenant,
      keyId: principal.proposesAs ?? '',
    });
  }

  async #toDraft(
    request: FastifyRequest,
    { principal, policy: { mounts, readAt } }: RequestContext,
    draft: string,
  ): Promise<RequestContext> {
    const policy = await this.#policies.policyFor(draft, { autoCreate: false, ip: request.ip });
    return {
      principal: {
        ...principal,
        tenant: draft,
        draftOf: principal.tenant,
        access: 'read_write',
        autoCreate: false,
      },
      policy: { ...policy, mounts: readOnly(mounts), readAt: Math.min(readAt, policy.readAt) },
    };
  }
}

/** Whether a write failed because its draft is closed. A closed draft is archived and soon deleted. */
function isClosed(error: unknown): boolean {
  return hasReason(error, 'tenant_archived') || hasReason(error, 'unknown_tenant');
}

/** Makes mounts read-only. A draft covers only its tenant, so writes to mounted tenants could not be reviewed. */
function readOnly(mounts: readonly Mount[]): Mount[] {
  return mounts.map((mount) => ({ ...mount, access: 'read_only' }));
}
