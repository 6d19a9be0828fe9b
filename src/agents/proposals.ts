import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Proposals } from '../drafts/proposals.ts';
import { hasReason } from '../errors/errors.ts';
import { contextOf, type RequestContext } from '../http/authentication.ts';
import type { Mount } from '../memory/mount.ts';
import type { TenantPolicyCache } from '../tenants/policy-cache.ts';

/*
 * A propose-only key works in a draft of its own. This is the one place where its requests get there: reads once
 * there is a draft, and until then they are of the tenant, which they may not write; writes always.
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

/** Moves the requests of propose-only keys to their drafts, before anything of the memory is read. */
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
    // The draft was closed after it was found.
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
 * The context for a write of a request. The first one of a propose-only key makes its draft, in which the request
 * then goes on.
 *
 * @throws ServiceError when the tenant may not have one more draft
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

/** The open draft of a propose-only key, which is created if there is none. */
function draftFor({ server }: FastifyRequest, { principal }: RequestContext): Promise<string> {
  return server.redirection.proposals.findOrMake({
    ...principal,
    tenant: principal.draftOf ?? principal.tenant,
    keyId: principal.proposesAs ?? '',
  });
}

/**
 * Runs work in a request's context: once more when its tenant was deleted or renamed meanwhile, and another one has
 * the id. Where a reviewer closes the draft of a propose-only key, a write goes into its next draft.
 *
 * @throws ServiceError as `work`, and when the tenant may not have one more draft
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
 * Identifies the caller of a request without the cache: the tenant of its context does not exist any more.
 *
 * @throws ServiceError 401 when the credential is not for the tenant that has the id by now
 */
async function identifyAgain(request: FastifyRequest): Promise<void> {
  await request.server.identifyAgain(request);
  const context = contextOf(request);
  if (context.principal.proposesAs !== undefined) await inDraft(request, context);
}

/** Whether a memory refuses writes, as a draft does once it is closed, and is gone soon after. */
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

/** There are drafts of the tenant only, so whoever proposes cannot write to what it mounts. */
function readOnly(mounts: readonly Mount[]): Mount[] {
  return mounts.map((mount) => ({ ...mount, access: 'read_only' }));
}
