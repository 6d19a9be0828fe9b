import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DatabaseError } from '../database/errors.ts';
import { ServiceError } from '../errors/errors.ts';
import { openMemory } from '../files/mounts/open.ts';
import type { Services } from '../files/services.ts';
import { contextOf } from '../http/authentication.ts';
import { inFlightOf } from '../http/capacity.ts';
import { noteFault, problemFor } from '../http/problem-details.ts';
import { type Executed, executeCommand, findCommand } from '../memory/commands/index.ts';
import { type Language, languages, readOnly, tooManyDrafts } from '../memory/messages.ts';
import { failure, refusal } from '../memory/result.ts';
import { executeSchema, IDEMPOTENCY_KEY } from './execute-schema.ts';
import { contextForWrite, inTenant } from './proposals.ts';
import { countLongCalls, maxResultsChars, resultBytes } from './result-bounds.ts';
import { searchMemory } from './search.ts';
import { observe, readToolCalls, sendJson, sendText, type ToolCall, wantsText } from './tool.ts';

/** The result of a block of several whose id was used for another write. */
const REUSED_ID =
  'Error: This call was not run: the id of its tool_use block was used for another write before. Send it again under a new id.';

const RESULTS_FULL =
  'Error: This call was not run because the results of this request have reached the size limit. Send it again in a separate request.';

const AFTER_FAULT =
  'Error: This call was not run because the service failed at an earlier call of this request. Send it again.';

declare module 'fastify' {
  interface FastifyInstance {
    /** Those of the process. */
    services: Services;
  }
}

/** `POST /execute`: runs memory commands for the request's tenant. */
export async function executeRoute(app: FastifyInstance, services: Services): Promise<void> {
  app.post('/execute', { schema: executeSchema, config: { takesBlocks: true } }, async (request, reply) => {
    const bytes = resultBytes(countLongCalls(request.body), contextOf(request).policy.limits);
    const { body, single } = await inFlightOf(request).work(bytes, async () => {
      const calls = readToolCalls(request.body);
      if (!Array.isArray(calls)) {
        const single = await runTool(request, calls, services);
        return { body: blockOf(single, calls), single };
      }
      const run = callsInTurn(request, services);
      const body: object[] = [];
      // In their order, since a later one may build on an earlier one.
      for (const call of calls) body.push(blockOf(await run(call), call));
      return { body };
    });
    if (single?.replayed) reply.header('Idempotency-Replayed', 'true');
    return single && wantsText(request) ? sendText(reply, single) : sendJson(reply, body);
  });
}

/**
 * Runs the calls of one request, until their results are too long together, or the service fails. Before the first
 * call nothing was run, so only its error is that of the request.
 */
export function callsInTurn(
  request: FastifyRequest,
  services: Services,
): (call: ToolCall) => Promise<Executed> {
  const maxLength = maxResultsChars(contextOf(request).policy.limits);
  let length = 0;
  let isFirst = true;
  let hasFailed = false;
  return async (call) => {
    // Each further call might wait as long as the one that failed.
    if (hasFailed) return notRun(request, AFTER_FAULT);
    if (length >= maxLength) return notRun(request, RESULTS_FULL);
    const executed = executeInTurn(request, call, services);
    const isOnly = isFirst;
    isFirst = false;
    const result = await executed.catch((error) => {
      const problem = problemFor(error);
      if (isOnly || problem.code === 'client_gone') throw error;
      hasFailed ||= problem.status >= 500;
      noteFault(problem, request);
      return notRun(request, describeFault(call, problem));
    });
    length += result.content.length;
    return result;
  };
}

/** Words the error of a call for the model. */
function describeFault(call: ToolCall, problem: ServiceError): string {
  const isRead =
    'invalid' in call || call.tool !== 'memory' || findCommand(call.input.command)?.access !== 'write';
  const isUndone =
    problem instanceof DatabaseError
      ? problem.neverSent || !problem.outcomeUnknown
      : problem.code !== 'internal_error';
  return `Error: This call ${isRead || isUndone ? 'was not run' : 'may have been run'}: ${problem.message}`;
}

/**
 * Runs one call of several. A reused id fails only this call, because earlier ones may have been executed and none
 * stops the others.
 */
export async function executeInTurn(
  request: FastifyRequest,
  call: ToolCall,
  services: Services,
): Promise<Executed> {
  try {
    return await runTool(request, call, services);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'idempotency_key_reused')) throw error;
    return notRun(request, REUSED_ID);
  }
}

function notRun({ logEntry }: FastifyRequest, why: string): Executed {
  logEntry.outcome = 'error';
  return { content: why, isError: true };
}

/** Runs one call of a tool, whatever its input is. */
async function runTool(request: FastifyRequest, call: ToolCall, services: Services): Promise<Executed> {
  // Read in any case: an invalid header is refused also where the block's id counts instead.
  const header = readIdempotencyKey(request);
  if ('invalid' in call) {
    const { invalid, toolUseId } = call;
    const unknown = { tool: 'memory', command: 'unknown', access: undefined, toolUseId };
    return observe(request, unknown, async () => failure(invalid));
  }
  if (call.tool !== 'memory') return searchMemory(request, call, services);
  const { tool, input, toolUseId } = call;
  const command = findCommand(input.command);
  const access = command?.access;
  if (access === 'write') {
    const refused = await contextForWrite(request).then(() => null, refusedWrite);
    if (refused !== null) return refused;
  }
  const { ip, id: requestId } = request;
  const language = languageOf(request);
  const idempotencyKey = toolUseId ?? header;
  return observe(request, { tool, command: command?.name ?? 'unknown', access, toolUseId }, () =>
    inTenant(request, access ?? 'read', async ({ principal, policy }) => {
      const made = { principal, policy, ip, language, requestId, toolUseId, idempotencyKey };
      const opened = await openMemory(command, input, made, services);
      if ('content' in opened) return opened;
      return executeCommand(command, input, opened.context).catch(opened.describeFault);
    }).catch(refusedWrite),
  );
}

/** To the model, an archived memory, or a draft that cannot be made, is a memory that it cannot change. */
function refusedWrite(error: unknown): Executed {
  if (!(error instanceof ServiceError)) throw error;
  if (error.code === 'over_quota') return refusal(tooManyDrafts);
  if (error.code === 'tenant_archived') return refusal(readOnly);
  throw error;
}

function blockOf({ content, isError }: Executed, { toolUseId }: ToolCall): object {
  const block = toolUseId === undefined ? {} : { type: 'tool_result', tool_use_id: toolUseId };
  return { ...block, content, is_error: isError };
}

function languageOf(request: FastifyRequest): Language {
  if (request.headers['accept-language'] === undefined) return 'en';
  const preferred = request.accepts().language([...languages]);
  return languages.find((language) => language === preferred) ?? 'en';
}

/** @throws ServiceError 400 for a key that is not sane. */
function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const given = request.headers['idempotency-key'];
  if (given === undefined) return undefined;
  if (typeof given === 'string' && IDEMPOTENCY_KEY.test(given)) return given;
  throw new ServiceError('invalid_idempotency_key');
}
