import type { FastifyInstance } from 'fastify';
import { validate } from '../../core/admin/validation.ts';
import { callErrors, tenantErrors, tenantHeaders } from '../../core/agents/execute-schema.ts';
import { observe } from '../../core/agents/tool.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { requireInFlight } from '../../core/http/capacity.ts';
import { inputValidator, type OperationApi, operationRoutes } from '../../core/http/operation-routes.ts';
import { agentErrors, problemResponses } from '../../core/http/problem-responses.ts';
import {
  acceptance,
  end,
  invitation,
  listing,
  revocation,
  type SharingTypes,
  shares,
} from './agent-operations.ts';
import { operationAccess, type RunSharing, type SharingOperation } from './agent-sharing.ts';

/** The operation is not part of a tool call. */
const NO_CALL = { toolUseId: undefined, callerTrace: undefined };

const OPERATIONS = [listing, invitation, revocation, shares, acceptance, end] as SharingOperation[];

/** Serves `/v1/invitations` and `/v1/shares`, for tenant keys that may share. */
export async function sharingRoutes(app: FastifyInstance, run: RunSharing): Promise<void> {
  app.setValidatorCompiler(inputValidator(validate));
  const operations = OPERATIONS.map((operation) => ({ ...operation, headers: tenantHeaders }));
  await operationRoutes(app, sharingApi(run), operations);
}

function sharingApi(run: RunSharing): OperationApi<SharingTypes> {
  return {
    routeConfig: () => ({}),
    describeErrors: ({ body, errors = [] }) =>
      problemResponses([
        ...(body === undefined ? [...tenantErrors, ...agentErrors] : callErrors),
        new ServiceError('invalid_parameter', 'The request has an unknown parameter: color.'),
        new ServiceError('cannot_share'),
        new ServiceError('no_such_tenant', 'acme'),
        ...errors,
      ]),
    async respond(operation, request, reply) {
      const { params, query, body, headers } = request;
      const access = operationAccess(operation);
      const details = { tool: 'sharing', command: operation.id, access } as const;
      const { result } = await observe(request, { ...details, ...NO_CALL }, async () => {
        const work = () => run(request, operation, { params, query, body, headers });
        return { result: await requireInFlight(request).work(0, work), isError: false };
      });
      reply.code(operation.status ?? 200);
      return result;
    },
  };
}
