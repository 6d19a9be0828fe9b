import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Proposals } from '../drafts/proposals.ts';
import { hasReason } from '../errors/errors.ts';
import { contextOf, type RequestContext } from '../http/authentication.ts';
import type { Mount } from '../memory/mount.ts';
import type { TenantPolicyCache } from '../tenants/policy-cache.ts';

/*
 * Redirects requests of propose-only keys to the key's draft. Writes always use the draft, which the first write
 * creates. Reads use the draft if it exists, and otherwise the tenant, which the key cannot change.
 */

interface Redirection {
  proposals: Proposals;
  policies: TenantPolicyCache;
}

declare module 'fastify' {
  interface FastifyInstance {
    redirection: Redirection;
  }
}

/** Redirects the requests of propose-only keys to their drafts, before the memory is read. */
export const proposing = fp<Redirection>(
  async (app, redirection) => {
    app.decorate('redirection', redirection);
    app.addHook('onRequest', (request, _reply, done) => {
      const context = contextOf(request);
      if (context.principal.proposesAs === undefined) done();
      else inDraft(request, context).then(() => done(), done);
    });
  },
  { name: 'proposing', dependencies: ['authentication', 'rate-limit'] },
);

async function inDraft(request: FastifyRequest, context: RequestContext): Promise<void> {
  try {
    request.context = await contextInDraft(request, context);
  } catch (error) {
    if (!hasReason(error, 'unknown_tenant')) throw error;
    // The draft was closed between the lookup of the draft and the lookup of its policy, so the lookup is repeated.
    request.context = await contextInDraft(request, context);
  }
}

async function contextInDraft(request: FastifyRequest, context: RequestContext): Promise<RequestContext> {
  const { principal, policy } = context;
  const { tenant, proposesAs = '' } = principal;
  const draft = await request.server.redirection.proposals.find(tenant, proposesAs);
  if (draft !== null) return moved(request, context, draft);
  return {
    principal: { ...principal, access: 'read_only' },
    policy: { ...policy, mounts: readOnly(policy.mounts) },
  };
}

/**
 * Returns the context for a write. The first write of a propose-only key creates a draft, and the rest of the request
 * uses the draft.
 *
 * @throws ServiceError if the tenant has its maximum number of drafts
 */
export async function contextForWrite(request: FastifyRequest): Promise<RequestContext> {
  const context = contextOf(request);
  const { proposesAs, access } = context.principal;
  if (proposesAs === undefined || access === 'read_write') return context;
  try {
    request.context = await moved(request, context, await draftFor(request, context));
  } catch (error) {
    if (!hasReason(error, 'tenant_replaced')) throw error;
    await identifyAgain(request);
    const current = contextOf(request);
    request.context = await moved(request, current, await draftFor(request, current));
  }
  return request.context;
}

/** Returns the open draft of a propose-only key, and creates a draft if none is open. */
function draftFor({ server }: FastifyRequest, { principal }: RequestContext): Promise<string> {
  return server.redirection.proposals.findOrMake({
    ...principal,
    tenant: principal.draftOf ?? principal.tenant,
    keyId: principal.proposesAs ?? '',
  });
}

/**
 * Runs work in the context of a request, and repeats the work if the tenant was replaced by another tenant with its ID.
 * If a reviewer has closed the draft of a propose-only key, a write creates a new draft.
 *
 * @throws ServiceError the error of `work`, or if the tenant has its maximum number of drafts
 */
export async function inTenant<T>(
  request: FastifyRequest,
  access: 'read' | 'write',
  work: (context: RequestContext) => Promise<T>,
): Promise<T> {
  const context = contextOf(request);
  try {
    return await work(context);
  } catch (error) {
    if (hasReason(error, 'tenant_replaced')) {
      await identifyAgain(request);
      return work(access === 'write' ? await contextForWrite(request) : contextOf(request));
    }
    const { tenant, draftOf, proposesAs } = context.principal;
    const isInDraft = draftOf !== undefined && proposesAs !== undefined;
    if (access === 'read' || !isInDraft || !isOfClosed(error)) throw error;
    const draft = await draftFor(request, context);
    if (draft === tenant) throw error;
    const principal = { ...context.principal, tenant: draftOf };
    request.context = await moved(request, { ...context, principal }, draft);
    return work(request.context);
  }
}

/**
 * Identifies the caller of a request again without cached keys and policies, because the tenant of the context no
 * longer exists.
 *
 * @throws ServiceError 401 if the credential does not belong to the tenant that has the ID now
 */
export async function identifyAgain(request: FastifyRequest): Promise<void> {
  await request.server.identifyAgain(request);
  await inOwnDraft(request);
}

/**
 * Identifies the caller of a long request like the caller of a new request.
 *
 * @throws ServiceError if a new request would be rejected
 */
export async function identifyAsNew(request: FastifyRequest): Promise<void> {
  await request.server.identifyAsNew(request);
  await inOwnDraft(request);
}

async function inOwnDraft(request: FastifyRequest): Promise<void> {
  const context = contextOf(request);
  if (context.principal.proposesAs !== undefined) await inDraft(request, context);
}

/** Whether a write failed because its draft is closed. A closed draft is archived and soon deleted. */
function isOfClosed(error: unknown): boolean {
  return hasReason(error, 'tenant_archived') || hasReason(error, 'unknown_tenant');
}

async function moved(
  request: FastifyRequest,
  { principal, policy: { mounts } }: RequestContext,
  draft: string,
): Promise<RequestContext> {
  const { policies } = request.server.redirection;
  const policy = await policies.policyFor(draft, { autoCreate: false, ip: request.ip });
  return {
    principal: {
      ...principal,
      tenant: draft,
      draftOf: principal.tenant,
      access: 'read_write',
      autoCreate: false,
    },
    policy: { ...policy, mounts: readOnly(mounts) },
  };
}

/** Makes mounts read-only. A draft covers only its tenant, so writes to mounted tenants could not be reviewed. */
function readOnly(mounts: readonly Mount[]): Mount[] {
  return mounts.map((mount) => ({ ...mount, access: 'read_only' }));
}
