import accepts from '@fastify/accepts';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import { createAuthenticator } from './auth/authenticator.ts';
import type { Config } from './config.ts';
import { createLogger } from './logger.ts';
import { accessLog } from './plugins/access-log.ts';
import { authentication } from './plugins/authentication.ts';
import { concurrencyLimit } from './plugins/concurrency-limit.ts';
import { answerClientError, connections } from './plugins/connections.ts';
import { hostCheck } from './plugins/host-check.ts';
import { InFlight } from './plugins/in-flight.ts';
import { jsonBody } from './plugins/json-body.ts';
import { Metrics, responseMetrics } from './plugins/metrics.ts';
import { notFound } from './plugins/not-found.ts';
import { openapi } from './plugins/openapi.ts';
import { handleError } from './plugins/problem-details.ts';
import { rateLimit } from './plugins/rate-limit.ts';
import { requestId } from './plugins/request-id.ts';
import type { Database } from './postgres/database.ts';
import { isMigrated } from './postgres/migrate.ts';
import { createSecretScanner } from './redaction/scanner.ts';
import { docsRoutes } from './routes/docs.ts';
import { executeRoute } from './routes/execute.ts';
import { healthRoutes } from './routes/health.ts';
import { indexRoute } from './routes/index-page.ts';
import { metricsRoute } from './routes/metrics.ts';
import { PostgresMemory } from './store/memory-store.ts';
import { TenantPolicyCache } from './tenants/policy-cache.ts';
import { Tenants } from './tenants/tenants.ts';

/**
 * Builds the HTTP service over a database, not listening yet. Closing it lets running requests finish; the database
 * stays open, since it is the caller's.
 */
export async function buildApp(options: {
  config: Config;
  database: Database;
  /** By default one as the configuration says. */
  log?: Logger;
}): Promise<FastifyInstance> {
  const { config, database, log = createLogger(config.LOG_LEVEL) } = options;
  const app: FastifyInstance = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // A logger for each request would cost more than its one line, which names the request itself.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    bodyLimit: config.MAX_BODY_BYTES,
    requestTimeout: config.REQUEST_TIMEOUT_MS,
    // Node looks for overdue requests every 30 s unless told otherwise, and gives headers 60 s.
    http: { headersTimeout: config.REQUEST_TIMEOUT_MS, connectionsCheckingInterval: 1000 },
    trustProxy: config.TRUST_PROXY,
    // Requests on connections that stay open while the service stops are answered, with Connection: close.
    return503OnClosing: false,
    frameworkErrors: handleError,
    clientErrorHandler: answerClientError,
    schemaController: { compilersFactory: { buildValidator: notCalled, buildSerializer: notCalled } },
  });
  // The zod schemas of the routes are documentation: a route reads its own input, because what a model got wrong has
  // to come back as a result, and writes its own output.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler(handleError);

  const inFlight = new InFlight(config);
  const metrics = new Metrics(inFlight, () => database.pool());
  await app.register(accessLog);
  await app.register(responseMetrics, { metrics });
  await app.register(connections);
  await app.register(hostCheck, { config });
  await app.register(notFound);
  await app.register(jsonBody);
  await app.register(accepts);
  await app.register(openapi, { config });

  const authenticator = await createAuthenticator(config, database);
  const policies = new TenantPolicyCache(new Tenants(database), config);
  const memory = new PostgresMemory(database, {
    batchSize: config.DB_BATCH_SIZE,
    maxFiles: config.MAX_TENANT_FILES,
    maxBytes: config.MAX_TENANT_BYTES,
    maxAnswers: config.MAX_TENANT_ANSWERS,
    historyDays: config.HISTORY_DAYS,
  });
  app.addHook('onClose', async () => {
    await Promise.all([memory.close(), authenticator.close()]);
  });
  // Takes nothing of the service's capacity before the caller is known.
  await app.register(async (protectedRoutes) => {
    await protectedRoutes.register(authentication, { authenticator, policies });
    await protectedRoutes.register(rateLimit);
    await protectedRoutes.register(concurrencyLimit, {
      inFlight,
      transferTimeoutMs: config.TRANSFER_TIMEOUT_MS,
    });
    await protectedRoutes.register(executeRoute, {
      memory,
      metrics,
      scanner: createSecretScanner(),
      timeoutMs: config.HANDLER_TIMEOUT_MS,
    });
  });
  await app.register(healthRoutes, { isMigrated: () => isMigrated(database) });
  await app.register(metricsRoute, { metrics });
  await app.register(docsRoutes);
  await app.register(indexRoute);
  return app;
}

/** In the place of Fastify's makers of compilers, which take 50 ms to load: the app sets its compilers itself. */
function notCalled(): never {
  throw new Error('The app sets compilers for schemas that work for all routes.');
}
