import rateLimit from '@fastify/rate-limit';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
} from 'fastify';
import type { Authenticator, Principal } from '../auth/principal.ts';
import { ServiceError } from '../errors.ts';
import type { Tenancy, TenantPolicy } from '../tenancy.ts';
import { whenKnown } from '../when-known.ts';
import { type Load, loadHook } from './load.ts';

/** Who a request is from, and what holds for it. */
export interface Admission {
  principal: Principal;
  policy: TenantPolicy;
}

declare module 'fastify' {
  interface FastifyRequest {
    admission: Admission | undefined;
  }
}

/** Rates are counted for so many tenants at once, in this process. */
const COUNTED_TENANTS = 100_000;

/**
 * The hooks of a route that needs a credential, in order: whether there is a place, who it is, whether the tenant may, and how
 * often. They run before
 * the body is read, so that a stranger's body is never read.
 */
export async function admissionHooks(
  app: FastifyInstance,
  { authenticator, tenancy, load }: { authenticator: Authenticator; tenancy: Tenancy; load: Load },
): Promise<Array<onRequestHookHandler | onRequestAsyncHookHandler>> {
  app.decorateRequest('admission', undefined);
  await app.register(rateLimit, {
    global: false,
    cache: COUNTED_TENANTS,
    timeWindow: '1 minute',
    enableDraftSpec: true,
    keyGenerator: (request) => request.admission?.principal.tenant ?? '',
    max: (request) => request.admission?.policy.ratePerMinute ?? 0,
    errorResponseBuilder: (_request, { max, ttl }) =>
      new ServiceError(
        429,
        'rate_limited',
        `The tenant has used its ${max} requests a minute. Retry-After says when there are more.`,
        { retryAfter: Math.max(1, Math.ceil(ttl / 1000)) },
      ),
  });
  const limitRate = app.rateLimit() as onRequestAsyncHookHandler;
  const policyOf = (request: FastifyRequest, principal: Principal) => {
    request.call.tenant = principal.tenant;
    return tenancy.policyFor(principal.tenant, principal.autoCreate);
  };
  const enter = (request: FastifyRequest, reply: FastifyReply, admission: Admission) => {
    checkBody(request, admission.policy);
    request.admission = admission;
    if (request.place) load.enterTenant(request.place, admission.principal.tenant);
    return admission.policy.ratePerMinute > 0 ? limitRate.call(app, request, reply) : undefined;
  };
  const admit: onRequestHookHandler = (request, reply, done) => {
    const admitted = whenKnown(authenticator.authenticate(request), (principal) =>
      whenKnown(policyOf(request, principal), (policy) => enter(request, reply, { principal, policy })),
    );
    if (admitted instanceof Promise) admitted.then(() => done(), done);
    else done();
  };
  return [loadHook(app, load), admit];
}

/** @throws ServiceError 413 for a body over the tenant's own limit, by what its Content-Length says. */
function checkBody({ headers }: FastifyRequest, { maxBodyBytes }: TenantPolicy): void {
  if (maxBodyBytes > 0 && Number(headers['content-length'] ?? 0) > maxBodyBytes) {
    throw new ServiceError(
      413,
      'body_too_large',
      `The body is larger than ${maxBodyBytes} bytes, the limit of this tenant.`,
    );
  }
}
