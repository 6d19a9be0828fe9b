import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { createAdminAuthenticator } from '../auth/authenticator.ts';
import type { Config } from '../config.ts';
import { MergeThreads } from '../drafts/line-merge.ts';
import { PatchThreads } from '../history/patch.ts';
import { accessLog } from '../http/access-log.ts';
import { connections } from '../http/connections.ts';
import { hostCheck } from '../http/host-check.ts';
import { jsonBody } from '../http/json-body.ts';
import { type Metrics, responseMetrics } from '../http/metrics.ts';
import { notFound } from '../http/not-found.ts';
import { openapi } from '../http/openapi.ts';
import { handleError, serviceErrorOf } from '../http/problem-details.ts';
import { docsRoutes } from '../http/routes/docs.ts';
import { healthRoutes } from '../http/routes/health.ts';
import { createHttpServer } from '../http/server.ts';
import { slowClients } from '../http/slow-clients.ts';
import { requestTracing } from '../http/tracing.ts';
import { createLogger } from '../logger.ts';
import type { Database } from '../postgres/database.ts';
import { MemorySearch } from '../search/search.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { ADMIN_API } from './api-description.ts';
import { audit } from './audit.ts';
import { adminAuthentication } from './authentication.ts';
import { concurrencyLimit } from './concurrency-limit.ts';
import { ERROR_HEADER } from './operation.ts';
import { requiredTenant } from './required-tenant.ts';
import { responseJson } from './response-json.ts';
import { auditRoutes } from './routes/audit.ts';
import { changeRoutes } from './routes/changes.ts';
import { consoleRoutes } from './routes/console.ts';
import { diffRoutes } from './routes/diffs.ts';
import { directoryRoutes } from './routes/directory.ts';
import { draftMergeRoutes } from './routes/draft-merge.ts';
import { draftReviewRoutes } from './routes/draft-review.ts';
import { draftRoutes, fleetDraftRoutes } from './routes/drafts.ts';
import { exportRoutes } from './routes/export.ts';
import { fleetUsageRoutes } from './routes/fleet-usage.ts';
import { importRoutes } from './routes/import.ts';
import { singleKeyRoutes } from './routes/key.ts';
import { keyRoutes } from './routes/keys.ts';
import { memoryRoutes } from './routes/memory.ts';
import { listMounts, removeTenantMount, setTenantMount } from './routes/mounts.ts';
import { moveRoutes } from './routes/move.ts';
import { redactRoutes } from './routes/redact.ts';
import { searchRoutes } from './routes/search.ts';
import { sessionRoutes } from './routes/session.ts';
import { suspensionRoutes } from './routes/suspension.ts';
import { tenantCopyRoutes } from './routes/tenant-copies.ts';
import { tenantRoutes } from './routes/tenants.ts';
import { timelineRoutes } from './routes/timeline.ts';
import { usageRoutes } from './routes/usage.ts';
import { versionRoutes } from './routes/versions.ts';
import { writeFileRoutes } from './routes/write-file.ts';
import { operationRoutes } from './routes.ts';
import { scopedResponses } from './scoped-responses.ts';
import { securityHeaders } from './security-headers.ts';
import { Turns } from './turns.ts';
import { validatorCompiler } from './validation.ts';

const ROUTES = [
  sessionRoutes,
  tenantRoutes,
  tenantCopyRoutes,
  suspensionRoutes,
  keyRoutes,
  singleKeyRoutes,
  auditRoutes,
  fleetUsageRoutes,
  fleetDraftRoutes,
];

/** Those of one tenant, which must exist: `/tenants/:tenant/…`. */
const TENANT_ROUTES = [
  usageRoutes,
  operationRoutes([listMounts, setTenantMount, removeTenantMount]),
  directoryRoutes,
  memoryRoutes,
  moveRoutes,
  writeFileRoutes,
  searchRoutes,
  exportRoutes,
  importRoutes,
  versionRoutes,
  timelineRoutes,
  diffRoutes,
  redactRoutes,
  changeRoutes,
  draftRoutes,
  draftReviewRoutes,
  draftMergeRoutes,
];

/** Longer parts of an error are left out: the message has what matters. */
const MAX_ERROR_HEADER = 8192;

function sendError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { reason, values, status } = serviceErrorOf(error, request);
  if (request.raw.headers[ERROR_HEADER] !== undefined && status < 500) {
    const parts = encodeURIComponent(JSON.stringify([reason, ...values]));
    if (parts.length <= MAX_ERROR_HEADER) reply.header(ERROR_HEADER, parts);
  }
  return handleError(error, request, reply);
}

/**
 * Builds the admin API over a database, not listening yet. Closing it lets running requests finish; the database stays open, since it is
 * the caller's.
 */
export async function buildAdminApp(options: {
  config: Config;
  database: Database;
  log?: Logger;
  /** Those of the process, which count the responses. */
  metrics?: Metrics | undefined;
  /** That of the process: by default one of its own. */
  search?: MemorySearch | undefined;
  /** By default nothing is traced. */
  tracing?: Tracing | undefined;
}): Promise<FastifyInstance> {
  const { config, database, log = createLogger(config.LOG_LEVEL), metrics, tracing } = options;
  const search = options.search ?? new MemorySearch();
  // An archive may take long to arrive: `slowClients` limits the time for each part of a body.
  const app = createHttpServer(config, { log, requestTimeoutMs: 0, onError: sendError });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => JSON.stringify);

  await app.register(accessLog);
  if (metrics) await app.register(responseMetrics, { metrics });
  await app.register(securityHeaders);
  await app.register(slowClients, { timeoutMs: config.TRANSFER_TIMEOUT_MS });
  await app.register(connections);
  await app.register(hostCheck, {
    config: { AUTH: config.AUTH, HOST: config.ADMIN_HOST, ALLOW_UNAUTHENTICATED: false },
    onlyOwnPages: true,
  });
  await app.register(notFound);
  await app.register(jsonBody);
  await app.register(openapi, { config, api: ADMIN_API });

  const authenticator = createAdminAuthenticator(config, database);
  const merges = new MergeThreads();
  const patches = new PatchThreads();
  app.addHook('onClose', async () => {
    await Promise.all([authenticator.close(), search.close(), merges.close(), patches.close()]);
  });
  await app.register(
    async (api) => {
      if (tracing) await api.register(requestTracing, { tracing });
      api.addHook('onRoute', (route) => {
        route.config = { ...route.config, hasNoBody: route.schema?.body === undefined };
      });
      await api.register(adminAuthentication, { authenticator });
      await api.register(scopedResponses);
      await api.register(concurrencyLimit, { maxWaitMs: config.MAX_QUEUE_MS });
      await api.register(responseJson);
      await api.register(audit, { database });
      const context = { config, database, search, merges, patches, scans: new Turns() };
      for (const routes of ROUTES) await api.register(routes, context);
      await api.register(async (ofTenant) => {
        await ofTenant.register(requiredTenant, { database });
        for (const routes of TENANT_ROUTES) await ofTenant.register(routes, context);
      });
    },
    { prefix: '/v1' },
  );
  await app.register(healthRoutes, { database });
  await app.register(docsRoutes, { title: 'Memory service administration' });
  await app.register(consoleRoutes);
  return app;
}
