import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Authenticator, Principal } from '../auth/principal.ts';
import { ServiceError } from '../errors.ts';
import type { TenantPolicy, TenantPolicyCache } from '../tenants/policy-cache.ts';
import { mapMaybePromise } from '../util/maybe-promise.ts';
import { type InFlight, InFlightRequest, inFlightOf } from './concurrency-limit.ts';
import { RateStore, WINDOW_MS } from './rate-store.ts';
import { countBody } from './request-body.ts';

/** Who a request is from, and what holds for it. */
export interface RequestContext {
  principal: Principal;
  policy: TenantPolicy;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for routes that need a credential. */
    context: RequestContext | undefined;
  }
}

/**
 * Registers what a route that needs a credential uses, and returns its `onRequest` hook: who the request is from, whether the
 * tenant may, and how often. It runs before the body is read, so that a stranger's body is never read, and takes nothing of
 * the service's capacity before the caller is known.
 */
export async function requestContextHook(
  app: FastifyInstance,
  {
    authenticator,
    policies,
    inFlight,
    transferTimeoutMs,
  }: {
    authenticator: Authenticator;
    policies: TenantPolicyCache;
    inFlight: InFlight;
    transferTimeoutMs: number;
  },
): Promise<onRequestHookHandler> {
  app.decorateRequest('context', undefined);
  app.decorateRequest('inFlight', undefined);
  await app.register(rateLimit, {
    global: false,
    store: RateStore,
    timeWindow: WINDOW_MS,
    enableDraftSpec: true,
    keyGenerator: (request) => request.context?.principal.tenant ?? '',
    max: (request) => request.context?.policy.ratePerMinute ?? 0,
    errorResponseBuilder: (_request, { max, ttl }) =>
      new ServiceError(
        429,
        'rate_limited',
        `The tenant has used its ${max} requests a minute. Retry-After says when there are more.`,
        { retryAfter: Math.max(1, Math.ceil(ttl / 1000)) },
      ),
  });
  const limitRate = app.rateLimit() as (
    this: FastifyInstance,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => Promise<void>;
  const policyOf = (request: FastifyRequest, principal: Principal) => {
    request.logEntry.tenant = principal.tenant;
    return policies.policyFor(principal.tenant, principal.autoCreate);
  };
  const enter = (request: FastifyRequest, reply: FastifyReply, context: RequestContext) => {
    checkBodySize(request, context.policy);
    request.context = context;
    inFlightOf(request).enter(context.principal.tenant);
    const limited = context.policy.ratePerMinute > 0 ? limitRate.call(app, request, reply) : undefined;
    return mapMaybePromise(limited, () => countBody(request, reply, transferTimeoutMs));
  };
  return (request, reply, done) => {
    request.inFlight = new InFlightRequest(inFlight, reply);
    const entered = mapMaybePromise(authenticator.authenticate(request), (principal) =>
      mapMaybePromise(policyOf(request, principal), (policy) => enter(request, reply, { principal, policy })),
    );
    if (entered instanceof Promise) entered.then(() => done(), done);
    else done();
  };
}

/** @throws ServiceError 413 for a body over the tenant's own limit, by what its Content-Length says. */
function checkBodySize({ headers }: FastifyRequest, { maxBodyBytes }: TenantPolicy): void {
  if (maxBodyBytes > 0 && Number(headers['content-length'] ?? 0) > maxBodyBytes) {
    throw new ServiceError(
      413,
      'body_too_large',
      `The body is larger than ${maxBodyBytes} bytes, the limit of this tenant.`,
    );
  }
}
