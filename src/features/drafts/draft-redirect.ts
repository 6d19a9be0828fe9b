import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Redirect } from '../../core/agents/redirect.ts';
import { hasReason } from '../../core/errors/errors.ts';
import { catchUnreachable, mountedPolicy } from '../../core/files/mounts/mounted-policy.ts';
import { isClosed } from '../../core/files/mounts/open-memory.ts';
import type { RequestContext } from '../../core/http/authentication.ts';
import { type Mount, ownProposal } from '../../core/memory/mount.ts';
import type { TenantPolicy, TenantPolicyCache } from '../../core/tenants/policy-cache.ts';
import { directRights, isReader, type Principal, proposesPaths } from '../../core/tenants/principal.ts';
import type { Proposals } from './proposals.ts';

/**
 * Redirects requests with propose-only keys to the key's draft, and mounts and paths with `propose` to the caller's
 * drafts.
 * Writes always use the draft, which the first write creates. Reads use the draft if it exists, and otherwise the memory
 * itself, which the caller cannot change.
 */
export class DraftRedirect implements Redirect {
  readonly #proposals: Proposals;
  readonly #policies: TenantPolicyCache;

  constructor(proposals: Proposals, policies: TenantPolicyCache) {
    this.#proposals = proposals;
    this.#policies = policies;
  }

  async forRead(request: FastifyRequest, context: RequestContext): Promise<RequestContext> {
    const own = context.principal.proposesAs === undefined ? context : await this.#toOwn(request, context);
    return isReader(own.principal) ? own : this.#withDrafts(request, own);
  }

  async #toOwn(request: FastifyRequest, context: RequestContext): Promise<RequestContext> {
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

  async openMount(request: FastifyRequest, context: RequestContext, mount: Mount): Promise<Mount> {
    const original = mount.draftOf === undefined ? mount : { ...mount, ...mount.draftOf, draftOf: undefined };
    const policy = await mountedPolicy(original, this.#policies, request.ip);
    if (typeof policy === 'string') return original;
    const { actor, tenant, draftOf: from = tenant } = context.principal;
    const draft = await this.#proposals.findOrMake({
      tenant: original.tenant,
      tenantCreatedAt: policy.createdAt ?? undefined,
      keyId: mountProposer(context),
      actor,
      viaTenant: from === original.tenant ? undefined : from,
    });
    return toDraft(original, draft, policy);
  }

  /** Returns a context with the caller's open drafts for mounts and paths with `propose`. */
  async #withDrafts(request: FastifyRequest, context: RequestContext): Promise<RequestContext> {
    const { policy } = context;
    const mounts = await Promise.all(
      policy.mounts.map(async (mount) => {
        if (mount.access !== 'propose') return mount;
        const found = await catchUnreachable(() => this.#findDraft(request, context, mount));
        return found === 'unreachable' ? mount : found;
      }),
    );
    return { principal: await this.#withProposal(request, context), policy: { ...policy, mounts } };
  }

  /** Returns the caller with its open draft. In a draft, which has no drafts, it only reads the paths with `propose`. */
  async #withProposal(request: FastifyRequest, context: RequestContext): Promise<Principal> {
    const { principal, policy } = context;
    if (!proposesPaths(principal)) return principal;
    if (policy.draftOf !== null) return { ...principal, rights: directRights(principal) };
    const own = await this.#findDraft(request, context, ownProposal(principal.tenant, policy.createdAt));
    return { ...principal, proposal: own.draftOf && own };
  }

  async #findDraft(request: FastifyRequest, context: RequestContext, mount: Mount): Promise<Mount> {
    const policy = await mountedPolicy(mount, this.#policies, request.ip);
    if (typeof policy === 'string') return mount;
    const find = async () => {
      const draft = await this.#proposals.find(mount.tenant, mountProposer(context));
      return draft === null ? mount : toDraft(mount, draft, policy);
    };
    const found = await find();
    // The draft was closed between the draft lookup and the policy lookup, so the lookup is repeated.
    return (await mountedPolicy(found, this.#policies, request.ip)) === 'missing' ? find() : found;
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

/**
 * Makes mounts read-only, except for mounts with `propose`. A draft covers only its tenant, so writes to mounted tenants
 * could not be reviewed.
 */
function readOnly(mounts: readonly Mount[]): Mount[] {
  return mounts.map((mount) => (mount.access === 'propose' ? mount : { ...mount, access: 'read_only' }));
}

/** Returns a mount that shows a draft instead. A draft's ID is never used again. */
function toDraft(mount: Mount, draft: string, { createdAt }: Pick<TenantPolicy, 'createdAt'>): Mount {
  const original = { tenant: mount.tenant, createdAt: createdAt ?? undefined };
  return { ...mount, tenant: draft, createdAt: undefined, draftOf: original };
}

/**
 * Identifies the proposer through a mount: a tenant key by its ID. A service key or token may call for several tenants,
 * so it is a separate proposer for each, by a hash.
 */
function mountProposer({ principal, policy }: RequestContext): string {
  const { actor, tenant, tenantCreatedAt } = principal;
  const id = actor.type === 'api_key' ? actor.id : actor.type === 'jwt' ? actor.subject : null;
  if (actor.type === 'api_key' && tenantCreatedAt !== undefined) return actor.id;
  return `via_${hash('sha256', JSON.stringify([actor.type, id, tenant, policy.createdAt]), 'base64url')}`;
}
