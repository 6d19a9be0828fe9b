import accepts from '@fastify/accepts';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { AGENT_CALLERS } from '../core/agents/agent-callers.ts';
import { executeRoute } from '../core/agents/execute.ts';
import { indexRoute } from '../core/agents/index-page.ts';
import { instructionsRoute } from '../core/agents/instructions-route.ts';
import { redirecting } from '../core/agents/redirect.ts';
import { whoamiRoute } from '../core/agents/whoami.ts';
import type { Config } from '../core/config.ts';
import type { Database } from '../core/database/database.ts';
import type { Part } from '../core/feature.ts';
import { Services } from '../core/files/services.ts';
import { accessLog } from '../core/http/access-log.ts';
import { concurrencyLimit, rateLimit } from '../core/http/admission.ts';
import { authentication } from '../core/http/authentication.ts';
import { Capacity } from '../core/http/capacity.ts';
import { connections, hostCheck, type RawError, rawProblem } from '../core/http/connections.ts';
import { docsRoutes } from '../core/http/docs.ts';
import { healthRoutes } from '../core/http/health.ts';
import { createHttpServer } from '../core/http/http-server.ts';
import { jsonBody } from '../core/http/json-body.ts';
import { Metrics, metricsRoute, responseMetrics } from '../core/http/metrics.ts';
import { notFound } from '../core/http/not-found.ts';
import { OPEN_ROUTES, openRoutes } from '../core/http/open-routes.ts';
import { openapi } from '../core/http/openapi.ts';
import { handleError } from '../core/http/problem-details.ts';
import { slowClients } from '../core/http/slow-clients.ts';
import { streams } from '../core/http/streams.ts';
import { requestTracing, type Tracing } from '../core/http/tracing.ts';
import { usageCounting } from '../core/http/usage-counting.ts';
import { createLogger } from '../core/lib/logger.ts';
import { Activity } from '../core/tenants/activity.ts';
import { createAuthenticator } from '../core/tenants/authenticator.ts';
import { Tenants } from '../core/tenants/tenants.ts';
import { UsageCounts } from '../core/tenants/usage.ts';
import { isForStores, rawStoreError, sendStoreError } from '../features/memory-stores/store-errors.ts';
import { createSecretScanner } from '../features/secrets/scanner.ts';
import { FEATURES } from './features.ts';
import { AGENT_PATHS } from './order.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The started features. */
    parts: readonly Part[];
  }
}

/**
 * Builds the HTTP service on a database. The caller starts listening. Closing the app waits for running requests, and
 * the caller still has to close the database.
 */
export async function buildApp(options: {
  config: Config;
  database: Database;
  /** The default logs at the configured level. */
  log?: Logger;
  tracing?: Tracing | undefined;
}): Promise<FastifyInstance> {
  const { config, database, log = createLogger(config.LOG_LEVEL), tracing } = options;
  const rawError: RawError = (url, error, id) =>
    isForStores({ url }) ? rawStoreError(error, id) : rawProblem(url, error, id);
  const app = createHttpServer(config, {
    rawError,
    log,
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    onError: (error, request, reply) =>
      (isForStores(request) ? sendStoreError : handleError)(error, request, reply),
  });
  // The routes' zod schemas are only documentation. Each route validates its own input, because a model's mistake must
  // become a result, and serializes its own output.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);

  const capacity = new Capacity(config);
  const metrics = new Metrics(capacity, () => database.pool(), { exemplars: tracing !== undefined });
  app.decorate('metrics', metrics);
  await app.register(accessLog);
  await app.register(responseMetrics, { metrics });
  await app.register(slowClients, { timeoutMs: config.TRANSFER_TIMEOUT_MS });
  await app.register(connections, { rawError });
  await app.register(hostCheck, { config });
  await app.register(notFound);
  await app.register(jsonBody);
  await app.register(accepts);
  await app.register(openapi, { config, firstPaths: AGENT_PATHS });

  const authenticator = await createAuthenticator(config, database);
  const tenants = new Tenants(database);
  const services = new Services(config, database, createSecretScanner(), tracing?.records);
  const { policies } = services;
  app.decorate('services', services);
  const usage = new UsageCounts(database);
  app.decorate('usageCounts', usage);
  const activity = new Activity(database);
  app.decorate('activity', activity);
  app.addHook('onClose', async () => {
    await Promise.all([services.close(), authenticator.close(), usage.close(), activity.close()]);
  });
  const parts: Part[] = await Promise.all(
    FEATURES.map(async (feature) => (await feature.start?.({ config, database, services, log })) ?? {}),
  );
  app.decorate('parts', parts);
  app.decorate(
    'tools',
    parts.flatMap(({ tool }) => tool ?? []),
  );
  app.decorate(
    'texts',
    parts.flatMap(({ text }) => text ?? []),
  );
  const redirect = parts.find((part) => part.redirect)?.redirect;
  // Requests use none of the service's capacity before their caller is authenticated.
  await app.register(async (protectedRoutes) => {
    if (tracing) await protectedRoutes.register(requestTracing, { tracing });
    await protectedRoutes.register(usageCounting, { counts: usage, activity });
    await protectedRoutes.register(authentication, { authenticator, policies });
    await protectedRoutes.register(rateLimit);
    // The rate limit comes first, so that a rejected request does not look up its draft.
    await protectedRoutes.register(redirecting, { redirect });
    await protectedRoutes.register(concurrencyLimit, { capacity });
    await protectedRoutes.register(streams, { config, callers: AGENT_CALLERS });
    await executeRoute(protectedRoutes, services);
    await instructionsRoute(protectedRoutes, services);
    await protectedRoutes.register(whoamiRoute, { authenticator, tenants, config, policies });
    for (const { agentRoutes } of parts) if (agentRoutes) await protectedRoutes.register(agentRoutes);
  });
  await app.register(healthRoutes, { database });
  await app.register(openRoutes, {
    limits: OPEN_ROUTES.local,
    maxWaitMs: config.MAX_QUEUE_MS,
    async routes(scope) {
      for (const part of parts) if (part.openRoutes) await scope.register(part.openRoutes);
      await scope.register(metricsRoute, { metrics });
      await scope.register(docsRoutes, { title: 'Memory service API' });
      await scope.register(indexRoute);
    },
  });
  return app;
}
