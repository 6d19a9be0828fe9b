import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { hasReason } from '../errors/errors.ts';
import { type RequestContext, requireContext } from '../http/authentication.ts';
import { type Mount, mountPath } from '../memory/mount.ts';
import { ROOT } from '../memory/path.ts';
import { directRights, proposesPaths } from '../tenants/principal.ts';

/** Redirects requests from propose-only keys to another memory, and so do mounts and rights with `propose`. */
export interface Redirect {
  /** Returns the context in which a request reads, with the caller's drafts for mounts and rights with `propose`. */
  forRead(request: FastifyRequest, context: RequestContext): Promise<RequestContext>;
  /** Returns the context in which a request writes, for a caller whose context is not yet writable. */
  forWrite(request: FastifyRequest, context: RequestContext): Promise<RequestContext>;
  /** Returns the context in which to repeat a failed write. Undefined if a repetition would fail too. */
  afterError(
    request: FastifyRequest,
    context: RequestContext,
    error: unknown,
  ): Promise<RequestContext | undefined>;
  /**
   * Returns a mount that shows the caller's draft, which is created if none is open.
   *
   * @param mount a mount with `propose`, or the caller's own memory (`ownProposal`)
   * @throws ServiceError if the mounted tenant may not have another draft
   */
  openMount(request: FastifyRequest, context: RequestContext, mount: Mount): Promise<Mount>;
}

/** Rejects writes from propose-only keys, and to mounts and paths with `propose`, for a service without drafts. */
const READ_ONLY: Redirect = {
  forRead: async (_request, context) => asReader(context),
  forWrite: async (_request, context) => asReader(context),
  afterError: async () => undefined,
  openMount: async (_request, _context, mount) => mount,
};

function asReader({ principal, policy }: RequestContext): RequestContext {
  const access = principal.proposesAs === undefined ? principal.access : 'read_only';
  const mounts = policy.mounts.map((mount) =>
    mount.access === 'propose' ? { ...mount, access: 'read_only' as const } : mount,
  );
  return {
    principal: { ...principal, access, rights: directRights(principal) },
    policy: { ...policy, mounts },
  };
}

function isRedirected({ principal, policy }: RequestContext): boolean {
  const { proposesAs } = principal;
  if (proposesAs !== undefined || proposesPaths(principal)) return true;
  return policy.mounts.some(({ access }) => access === 'propose');
}

declare module 'fastify' {
  interface FastifyInstance {
    redirect: Redirect;
  }
}

/** Redirects requests before the memory is read. */
export const redirecting = fp<{ redirect: Redirect | undefined }>(
  async (app, { redirect = READ_ONLY }) => {
    app.decorate('redirect', redirect);
    app.addHook('onRequest', (request, _reply, done) => {
      if (isRedirected(requireContext(request))) redirectRead(request).then(() => done(), done);
      else done();
    });
  },
  { name: 'redirecting', dependencies: ['authentication', 'rate-limit'] },
);

async function redirectRead(request: FastifyRequest): Promise<void> {
  request.context = await request.server.redirect.forRead(request, requireContext(request));
}

/**
 * Returns the context for a write, which the rest of the request uses.
 *
 * @throws ServiceError if the caller may not write
 */
export async function contextForWrite(request: FastifyRequest): Promise<RequestContext> {
  const context = requireContext(request);
  const { proposesAs, access } = context.principal;
  if (proposesAs === undefined || access === 'read_write') return context;
  const { redirect } = request.server;
  try {
    request.context = await redirect.forWrite(request, context);
  } catch (error) {
    if (!hasReason(error, 'tenant_replaced')) throw error;
    await identifyAgain(request);
    request.context = await redirect.forWrite(request, requireContext(request));
  }
  return request.context;
}

/**
 * Opens a mount with `propose`: the rest of the request uses the caller's draft.
 *
 * @throws ServiceError if the mounted tenant may not have another draft
 */
export async function openMountedDraft(request: FastifyRequest, mount: Mount): Promise<Mount> {
  const opened = await request.server.redirect.openMount(request, requireContext(request), mount);
  const { principal, policy } = requireContext(request);
  const mounts = policy.mounts.map((each) => (each.name === mount.name ? opened : each));
  const proposal = mountPath(mount) === ROOT ? opened : principal.proposal;
  request.context = { principal: { ...principal, proposal }, policy: { ...policy, mounts } };
  return opened;
}

/**
 * Runs work in a request's context, and repeats the work if the tenant was replaced by another tenant with its ID, or
 * if the redirection has another memory for a failed write.
 *
 * @throws ServiceError the error from `work`, or if the caller may not write
 */
export async function inTenant<T>(
  request: FastifyRequest,
  access: 'read' | 'write',
  work: (context: RequestContext) => Promise<T>,
): Promise<T> {
  const context = requireContext(request);
  try {
    return await work(context);
  } catch (error) {
    if (hasReason(error, 'tenant_replaced')) {
      await identifyAgain(request);
      return work(access === 'write' ? await contextForWrite(request) : requireContext(request));
    }
    if (access === 'read' || context.principal.proposesAs === undefined) throw error;
    const next = await request.server.redirect.afterError(request, context, error);
    if (next === undefined) throw error;
    request.context = next;
    return work(next);
  }
}

/**
 * Identifies a request's caller again without cached keys and policies, because the context's tenant no longer exists.
 *
 * @throws ServiceError 401 if the credential does not belong to the tenant that has the ID now
 */
async function identifyAgain(request: FastifyRequest): Promise<void> {
  await request.server.identifyAgain(request);
  if (isRedirected(requireContext(request))) await redirectRead(request);
}

/**
 * Returns the context that a new request from the same caller would have, with cached keys and policies.
 *
 * @throws ServiceError if a new request would be rejected
 */
export async function identifyAsNew(request: FastifyRequest): Promise<RequestContext> {
  const { server } = request;
  const context = await server.identifyAsNew(request);
  return isRedirected(context) ? server.redirect.forRead(request, context) : context;
}
