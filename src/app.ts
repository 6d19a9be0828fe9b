import accepts from '@fastify/accepts';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import { createAuthenticator } from './auth/authenticator.ts';
import type { Config } from './config.ts';
import { createLogger } from './logger.ts';
import { registerAccessLog } from './plugins/access-log.ts';
import { InFlight, watchAnswer } from './plugins/concurrency-limit.ts';
import { answerClientError, registerConnections } from './plugins/connections.ts';
import { registerHostCheck } from './plugins/host-check.ts';
import { registerJsonBody } from './plugins/json-body.ts';
import { Metrics } from './plugins/metrics.ts';
import { registerNotFound } from './plugins/not-found.ts';
import { registerDocs, registerOpenApi } from './plugins/openapi.ts';
import { handleError } from './plugins/problem-details.ts';
import { requestContextHook } from './plugins/request-context.ts';
import { requestId } from './plugins/request-id.ts';
import type { Database } from './postgres/database.ts';
import { createSecretScanner } from './redaction/scanner.ts';
import { registerExecute } from './routes/execute.ts';
import { registerHealth } from './routes/health.ts';
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
  const inFlight = new InFlight(config);
  const metrics = new Metrics(database, inFlight);
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
  registerAccessLog(app, (route, status) => metrics.observeResponse(route, status));
  registerConnections(app);
  registerHostCheck(app, config);
  registerNotFound(app);
  registerJsonBody(app);
  await app.register(accepts);
  await registerOpenApi(app);

  const authenticator = await createAuthenticator(config, database);
  const policies = new TenantPolicyCache(new Tenants(database), config);
  const memory = new PostgresMemory(database, {
    batchSize: config.DB_BATCH_SIZE,
    maxFiles: config.MAX_TENANT_FILES,
    maxBytes: config.MAX_TENANT_BYTES,
  });
  app.addHook('onClose', async () => {
    await Promise.all([memory.close(), authenticator.close()]);
  });
  registerExecute(app, {
    memory,
    hooks: {
      onRequest: await requestContextHook(app, {
        ...{ authenticator, policies, inFlight },
        transferTimeoutMs: config.TRANSFER_TIMEOUT_MS,
      }),
      onSend: watchAnswer(config.TRANSFER_TIMEOUT_MS),
    },
    metrics,
    scanner: createSecretScanner(),
    timeoutMs: config.HANDLER_TIMEOUT_MS,
  });
  registerHealth(app, database);
  metrics.register(app);
  await registerDocs(app);
  return app;
}

/** In the place of Fastify's makers of compilers, which take 50 ms to load: the app sets its compilers itself. */
function notCalled(): never {
  throw new Error('The app sets compilers for schemas that work for all routes.');
}
