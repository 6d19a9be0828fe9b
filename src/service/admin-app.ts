import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { adminAuthentication } from '../core/admin/admin-authentication.ts';
import { adminCallers } from '../core/admin/admin-callers.ts';
import { ERROR_HEADER } from '../core/admin/admin-operation.ts';
import { adminApi, errorParts } from '../core/admin/admin-routes.ts';
import { audit } from '../core/admin/audit-route.ts';
import { compression } from '../core/admin/compression.ts';
import { concurrencyLimit } from '../core/admin/concurrency-limit.ts';
import { consoleRoutes, securityHeaders } from '../core/admin/console.ts';
import { HeavyWork } from '../core/admin/heavy-work.ts';
import { operatorAuthentication } from '../core/admin/local-socket.ts';
import { responseJson, scopedResponses } from '../core/admin/response-json.ts';
import { validate } from '../core/admin/validation.ts';
import type { Config } from '../core/config.ts';
import type { Database } from '../core/database/database.ts';
import { Services } from '../core/files/services.ts';
import { MergeThreads } from '../core/history/line-merge.ts';
import { PatchThreads } from '../core/history/patch.ts';
import { accessLog } from '../core/http/access-log.ts';
import { connections, hostCheck } from '../core/http/connections.ts';
import { docsRoutes } from '../core/http/docs.ts';
import { healthRoutes } from '../core/http/health.ts';
import { createHttpServer } from '../core/http/http-server.ts';
import { jsonBody } from '../core/http/json-body.ts';
import { type Metrics, responseMetrics } from '../core/http/metrics.ts';
import { notFound } from '../core/http/not-found.ts';
import { OPEN_ROUTES, openRoutes } from '../core/http/open-routes.ts';
import { type ApiDescription, openapi } from '../core/http/openapi.ts';
import { inputValidator, operationRoutes } from '../core/http/operation-routes.ts';
import { handleError, toServiceError } from '../core/http/problem-details.ts';
import { slowClients } from '../core/http/slow-clients.ts';
import { streams } from '../core/http/streams.ts';
import { requestTracing, type Tracing } from '../core/http/tracing.ts';
import { createLogger } from '../core/lib/logger.ts';
import { createAdminAuthenticator } from '../core/tenants/authenticator.ts';
import { createSecretScanner } from '../features/secrets/scanner.ts';
import type { FirstKey } from '../features/sign-in/first-key.ts';
import { adminOperations } from './features.ts';

export const ADMIN_API: ApiDescription = {
  title: 'Memory service administration',
  description: [
    'Manage a fleet of tenants: settings, keys, usage, and memories, now and in the past. It listens on a separate port, `ADMIN_PORT`.',
    '**Pages.** A page has at most `limit` items. On the last page, `next` is null. Otherwise, pass ' +
      '`next` as `after` to get the next page, and leave the other parameters unchanged.',
    "**Changes to a file** require a precondition: `If-Match` with the content's `ETag` as you " +
      'read it, `If-Match: *`, or `If-None-Match: *`. Otherwise you could silently overwrite the ' +
      'change by an agent that writes at the same time.',
    "The history names the admin key as a change's actor, and the audit trail lists every change " +
      'by this API, the console and the command line.',
  ].join('\n\n'),
  credential: 'An admin key: `memory-service keys create --admin`. None with `AUTH=none`.',
  tags: [
    { name: 'session', description: 'The caller and its credential.' },
    { name: 'tenants', description: 'Tenants, their settings, and their usage.' },
    { name: 'mounts', description: "Other tenants' memories, shown as directories." },
    { name: 'sharing', description: 'Memories that tenants share by invitation.' },
    { name: 'keys', description: 'Credentials for tenants, services, and admins.' },
    { name: 'memory', description: "A tenant's files, now and in the past." },
    { name: 'history', description: 'File versions, restore and revert.' },
    {
      name: 'drafts',
      description: 'Copies of a memory to work on, to compare with it, and to merge into it.',
    },
    {
      name: 'webhooks',
      description: 'Changes to memories, sent to HTTP endpoints (Standard Webhooks).',
    },
    {
      name: 'incidents',
      description: 'Finding a text in many memories, keeping texts out, and jobs over tenants.',
    },
    { name: 'audit', description: 'Administrative changes.' },
    { name: 'operations', description: 'Health checks.' },
  ],
};

function sendError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const parts = errorParts(toServiceError(error, request), request);
  if (parts !== undefined) reply.header(ERROR_HEADER, parts);
  return handleError(error, request, reply);
}

/**
 * Builds the admin API on a database. The caller starts listening. Closing the app waits for running requests, and the
 * caller still has to close the database.
 */
export async function buildAdminApp(options: {
  config: Config;
  database: Database;
  log?: Logger;
  /** Metrics shared by all listeners, which count the responses. */
  metrics?: Metrics | undefined;
  /** Services shared by all listeners. The default is a separate instance. */
  services?: Services | undefined;
  tracing?: Tracing | undefined;
  /** The limiter for heavy work shared by all admin listeners. The default is a separate limiter. */
  heavyWork?: HeavyWork | undefined;
  /** Whether the app listens on a Unix domain socket, whose callers are operators. */
  isLocal?: boolean;
  /** Creates the first admin key. Undefined if there is one. */
  firstKey?: FirstKey | undefined;
}): Promise<FastifyInstance> {
  const { database, metrics, tracing, isLocal = false } = options;
  const { heavyWork = new HeavyWork(options.config.HANDLER_TIMEOUT_MS) } = options;
  // TRUST_PROXY does not apply, because a Unix domain socket has no proxy in front of it.
  const config = isLocal ? { ...options.config, TRUST_PROXY: false } : options.config;
  const { log = createLogger(config.LOG_LEVEL) } = options;
  const services = options.services ?? new Services(config, database, createSecretScanner());
  // An archive upload may take long, so only `slowClients` limits the time, for each part of a body.
  const app = createHttpServer(config, { log, requestTimeoutMs: 0, onError: sendError });
  app.setValidatorCompiler(inputValidator(validate));
  app.setSerializerCompiler(() => JSON.stringify);

  await app.register(accessLog);
  if (metrics) await app.register(responseMetrics, { metrics });
  await app.register(securityHeaders);
  await app.register(slowClients, { timeoutMs: config.TRANSFER_TIMEOUT_MS });
  await app.register(connections, { isUnixSocket: isLocal });
  await app.register(hostCheck, {
    config: { AUTH: config.AUTH, HOST: config.ADMIN_HOST, ALLOW_UNAUTHENTICATED: false },
    onlyOwnPages: true,
  });
  await app.register(notFound);
  await app.register(jsonBody);
  await app.register(openapi, { config, api: ADMIN_API });

  // Imported on demand, because few services use it.
  const signIn =
    isLocal || config.OIDC_ISSUER === undefined
      ? undefined
      : new (await import('../features/sign-in/sign-in-routes.ts')).SignIn(config, database);
  const keys = isLocal ? operatorAuthentication() : createAdminAuthenticator(config, database);
  const authenticator = signIn?.sessions.combineWith(keys) ?? keys;
  const merges = new MergeThreads();
  const patches = new PatchThreads();
  app.addHook('onClose', async () => {
    await Promise.all([authenticator.close(), merges.close(), patches.close()]);
    if (options.services === undefined) await services.close();
  });
  await app.register(
    async (api) => {
      if (tracing) await api.register(requestTracing, { tracing });
      // A socket on the same machine is faster than the compression.
      if (!isLocal) await api.register(compression);
      await api.register(adminAuthentication, { authenticator });
      await api.register(scopedResponses);
      await api.register(concurrencyLimit, { maxWaitMs: config.MAX_QUEUE_MS });
      await api.register(streams, { config, callers: adminCallers(authenticator) });
      await api.register(responseJson);
      await api.register(audit, { database });
      // Caches must not outlast texts that an operation redacts or deletes.
      api.addHook('onSend', async ({ method, params }) => {
        const { tenant } = (params ?? {}) as { tenant?: string };
        if (method !== 'GET' && tenant !== undefined) services.forgetErased(tenant);
      });
      const shared = { config, database, services, merges, patches, heavyWork };
      await operationRoutes(api, adminApi(shared), adminOperations());
    },
    { prefix: '/v1' },
  );
  await app.register(healthRoutes, { database });
  const open = { maxWaitMs: config.MAX_QUEUE_MS };
  if (signIn !== undefined)
    await app.register(openRoutes, { ...open, limits: OPEN_ROUTES.forwarding, routes: signIn.routes });
  await app.register(openRoutes, {
    ...open,
    limits: OPEN_ROUTES.local,
    async routes(scope) {
      await scope.register(docsRoutes, { title: 'Memory service administration' });
      if (options.firstKey !== undefined) await scope.register(options.firstKey.routes);
      await scope.register(consoleRoutes, { hasOpenId: signIn !== undefined });
    },
  });
  return app;
}
