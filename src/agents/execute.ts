import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../errors/errors.ts';
import { executeCall, type MemoryServices } from '../files/mounts/execute.ts';
import { contextOf } from '../http/authentication.ts';
import { inFlightOf } from '../http/capacity.ts';
import { type Executed, findCommand } from '../memory/commands/index.ts';
import { type Language, languages, readOnly, tooManyDrafts } from '../memory/messages.ts';
import { failure, refusal } from '../memory/result.ts';
import { executeSchema, IDEMPOTENCY_KEY } from './execute-schema.ts';
import { contextForWrite, inCurrentTenant, inOpenDraft } from './proposals.ts';
import { countLongCalls, maxResultsChars, resultBytes } from './result-bounds.ts';
import { type SearchOptions, searchMemory } from './search.ts';
import {
  type InvalidCall,
  measured,
  readToolCalls,
  sendJson,
  sendText,
  type ToolCall,
  type ValidCall,
  wantsText,
} from './tool.ts';

export interface ExecuteOptions extends SearchOptions, MemoryServices {
  /** How long a request may be worked on, in milliseconds. */
  timeoutMs: number;
}

/** What goes back: a body for JSON, and with one call its text for those who want only that. */
interface ExecuteResponse {
  body: object;
  single?: Executed;
}

/** The result of a block of several whose id was used for another write. */
const REUSED_ID =
  'Error: This call was not run: the id of its tool_use block was used for another write before. Send it again under a new id.';

const RESULTS_FULL =
  'Error: This call was not run because the results of this request have reached the size limit. Send it again in a separate request.';

/** `POST /execute`: runs memory commands for the request's tenant. */
export async function executeRoute(app: FastifyInstance, options: ExecuteOptions): Promise<void> {
  app.post('/execute', { schema: executeSchema, config: { takesBlocks: true } }, async (request, reply) => {
    const inFlight = inFlightOf(request);
    const { limits } = contextOf(request).policy;
    await inFlight.takeSlot(resultBytes(countLongCalls(request.body), limits));
    const { body, single } = await inFlight.workWithin(options.timeoutMs, () => respond(request, options));
    if (single?.replayed) reply.header('Idempotency-Replayed', 'true');
    return single && wantsText(request) ? sendText(reply, single) : sendJson(reply, body);
  });
}

async function respond(request: FastifyRequest, options: ExecuteOptions): Promise<ExecuteResponse> {
  const calls = readToolCalls(request.body);
  if (!Array.isArray(calls)) {
    const single = await execute(request, calls, options);
    return { body: blockOf(single, calls), single };
  }
  const run = callsInTurn(request, options);
  const body: object[] = [];
  // In their order, since a later one may build on an earlier one.
  for (const call of calls) body.push(blockOf(await run(call), call));
  return { body };
}

/** Runs the calls of one request, until their results are too long together. */
export function callsInTurn(
  request: FastifyRequest,
  options: ExecuteOptions,
): (call: ToolCall) => Promise<Executed> {
  const maxLength = maxResultsChars(contextOf(request).policy.limits);
  let length = 0;
  return async (call) => {
    const isFull = length >= maxLength;
    const result = isFull ? notRun(request, RESULTS_FULL) : await executeInTurn(request, call, options);
    length += result.content.length;
    return result;
  };
}

/** Runs one call of several. A reused id fails only this call, because earlier ones may have been executed and none stops the others. */
export async function executeInTurn(
  request: FastifyRequest,
  call: ToolCall,
  options: ExecuteOptions,
): Promise<Executed> {
  try {
    return await execute(request, call, options);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'idempotency_key_reused')) throw error;
    return notRun(request, REUSED_ID);
  }
}

function notRun({ logEntry }: FastifyRequest, why: string): Executed {
  logEntry.outcome = 'error';
  return { content: why, isError: true };
}

async function execute(request: FastifyRequest, call: ToolCall, options: ExecuteOptions): Promise<Executed> {
  // Read in any case: an invalid header is refused also where the block's id counts instead.
  const header = readIdempotencyKey(request);
  if ('invalid' in call) return refuseInvalid(request, call, options);
  if (call.tool === 'memory' && findCommand(call.input.command)?.access === 'write') {
    const refused = await contextForWrite(request).then(() => null, refusedWrite);
    if (refused !== null) return refused;
  }
  return call.tool === 'memory'
    ? executeMemory(request, call, call.toolUseId ?? header, options)
    : searchMemory(request, call, options);
}

function refuseInvalid(
  request: FastifyRequest,
  { invalid, toolUseId }: InvalidCall,
  { metrics }: ExecuteOptions,
): Promise<Executed> {
  const call = { tool: 'memory', command: 'unknown', access: undefined, toolUseId };
  return measured(request, metrics, call, async () => failure(invalid));
}

function executeMemory(
  request: FastifyRequest,
  { tool, input, toolUseId }: ValidCall,
  idempotencyKey: string | undefined,
  options: ExecuteOptions,
): Promise<Executed> {
  const found = findCommand(input.command);
  const call = { tool, command: found?.name ?? 'unknown', access: found?.access, toolUseId };
  const { ip, id: requestId } = request;
  const language = languageOf(request);
  const inTenant = found?.access === 'write' ? inOpenDraft : inCurrentTenant;
  return measured(request, options.metrics, call, () =>
    inTenant(request, ({ principal, policy }) =>
      executeCall(input, { principal, policy, ip, language, requestId, toolUseId, idempotencyKey }, options),
    ).catch(refusedWrite),
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
