import fp from 'fastify-plugin';

/** Says in the log which operation a request asked for, and for which tenant: with the actor, a record of who changed what. */
export const logSubject = fp(
  async (app) => {
    app.addHook('preHandler', (request, _reply, done) => {
      const { operationId } = request.routeOptions.schema ?? {};
      if (operationId !== undefined) request.logEntry.command = operationId;
      const { tenant } = request.params as { tenant?: string };
      if (tenant !== undefined) request.logEntry.tenant = tenant;
      done();
    });
  },
  { name: 'log-subject', dependencies: ['access-log'] },
);
