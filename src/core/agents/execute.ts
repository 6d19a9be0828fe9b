import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DatabaseError } from '../database/database-errors.ts';
import { ServiceError } from '../errors/errors.ts';
import { isClosed, type OpenedMemory, openMemory, opensDraft } from '../files/mounts/open-memory.ts';
import type { Services } from '../files/services.ts';
import { requireContext } from '../http/authentication.ts';
import { requireInFlight } from '../http/capacity.ts';
import { noteFault, problemFor } from '../http/problem-details.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import { type Executed, executeCommand, findCommand } from '../memory/commands/index.ts';
import type { MemoryContext } from '../memory/commands/memory-command.ts';
import { type Language, languages, readOnly, tooManyDrafts } from '../memory/messages.ts';
import type { Mount } from '../memory/mount.ts';
import { failure, type MemoryResult, rejection } from '../memory/result.ts';
import { executeSchema, IDEMPOTENCY_KEY } from './execute-schema.ts';
import { asksForProvenance } from './provenance-header.ts';
import { contextForWrite, inTenant, openMountedDraft } from './redirect.ts';
import { countLongCalls, maxResultsChars, resultBytes } from './result-bounds.ts';
import {
  MEMORY_TOOL,
  observe,
  readToolCalls,
  sendJson,
  sendText,
  type ToolCall,
  toolsFor,
  type ValidCall,
  wantsText,
} from './tool.ts';

/** Result for a block in an array whose ID was already used for another write. */
const REUSED_ID =
  'Error: This call was not run: the id of its tool_use block was used for another write before. Send it again under a new id.';

const RESULTS_FULL =
  'Error: This call was not run because the results of this request have reached the size limit. Send it again in a separate request.';

const AFTER_FAULT =
  'Error: This call was not run because the service failed at an earlier call of this request. Send it again.';

declare module 'fastify' {
  interface FastifyInstance {
    /** Services shared by all requests. */
    services: Services;
  }
}

/** Serves `POST /execute`, which runs memory commands for the request's tenant. */
export async function executeRoute(app: FastifyInstance, services: Services): Promise<void> {
  const { tools } = app;
  app.post(
    '/execute',
    { schema: executeSchema(tools), config: { takesBlocks: true } },
    async (request, reply) => {
      const bytes = resultBytes(countLongCalls(request.body), requireContext(request).policy.limits);
      const { body, single } = await requireInFlight(request).work(bytes, async () => {
        const calls = readToolCalls(request.body, toolsFor(request));
        if (!Array.isArray(calls)) {
          const single = await runTool(request, calls, services);
          return { body: resultBlock(single, calls), single };
        }
        const run = callsInTurn(request, services);
        const body: object[] = [];
        // The calls run in sequence, because a later call may depend on an earlier call.
        for (const call of calls) body.push(resultBlock(await run(call), call));
        return { body };
      });
      if (single?.replayed) reply.header('Idempotency-Replayed', 'true');
      return single && wantsText(request) ? sendText(reply, single) : sendJson(reply, body);
    },
  );
}

/**
 * Returns a function that runs one request's calls, until their results are too long or the service fails. If the first
 * call fails, no call has run, so its error becomes the request's error.
 */
export function callsInTurn(
  request: FastifyRequest,
  services: Services,
): (call: ToolCall) => Promise<Executed> {
  const maxLength = maxResultsChars(requireContext(request).policy.limits);
  let length = 0;
  let isFirst = true;
  let hasFailed = false;
  return async (call) => {
    // After a service failure, each further call could wait just as long.
    if (hasFailed) return failWithoutRun(request, AFTER_FAULT);
    if (length >= maxLength) return failWithoutRun(request, RESULTS_FULL);
    const executed = executeInTurn(request, call, services);
    const isOnly = isFirst;
    isFirst = false;
    const result = await executed.catch((error) => {
      const problem = problemFor(error);
      if (isOnly || problem.code === 'client_gone') throw error;
      hasFailed ||= problem.status >= 500;
      noteFault(problem, request);
      return failWithoutRun(request, describeFault(call, problem));
    });
    length += result.content.length;
    return result;
  };
}

/** Writes a call's error as a message for the model. */
function describeFault(call: ToolCall, problem: ServiceError): string {
  const isRead =
    'invalid' in call || call.tool !== MEMORY_TOOL || findCommand(call.input.command)?.access !== 'write';
  const isUndone =
    problem instanceof DatabaseError
      ? problem.neverSent || !problem.outcomeUnknown
      : problem.code !== 'internal_error';
  return `Error: This call ${isRead || isUndone ? 'was not run' : 'may have been run'}: ${problem.message}`;
}

/** Runs one of several calls. A reused ID fails only this call, because earlier calls may have run already. */
export async function executeInTurn(
  request: FastifyRequest,
  call: ToolCall,
  services: Services,
): Promise<Executed> {
  try {
    return await runTool(request, call, services);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'idempotency_key_reused')) throw error;
    return failWithoutRun(request, REUSED_ID);
  }
}

function failWithoutRun({ logEntry }: FastifyRequest, why: string): Executed {
  logEntry.outcome = 'error';
  return { content: why, isError: true };
}

/** Runs one tool call, including calls with invalid input. */
async function runTool(request: FastifyRequest, toolCall: ToolCall, services: Services): Promise<Executed> {
  // The headers are always validated, even if the block's ID replaces the key.
  const header = readIdempotencyKey(request);
  const wantsProvenance = asksForProvenance(request, requireContext(request).policy);
  if ('invalid' in toolCall) {
    const { invalid, toolUseId } = toolCall;
    const unknown = { tool: 'memory', command: 'unknown', access: undefined, toolUseId };
    return await observe(request, unknown, async () => failure(invalid));
  }
  if (toolCall.tool !== MEMORY_TOOL) return runFeatureTool(request, toolCall);
  const { tool, input, toolUseId, callerTrace, read } = toolCall;
  const command = findCommand(input.command);
  const access = command?.access;
  if (opensDraft(command, input, requireContext(request))) {
    const rejected = await contextForWrite(request).then(() => null, rejectedWriteResult);
    if (rejected !== null) return rejected;
  }
  const { ip, id: requestId } = request;
  const language = requestLanguage(request);
  const idempotencyKey = toolUseId ?? header;
  const details = { tool, command: command?.name ?? 'unknown', access, toolUseId, callerTrace };
  const openDraft = (mount: Mount) => openMountedDraft(request, mount);
  const options = { ip, language, requestId, toolUseId, idempotencyKey, wantsProvenance, openDraft };
  const execute = (context: MemoryContext) => read?.(context) ?? executeCommand(command, input, context);
  return await observe(request, details, () =>
    inTenant(request, access ?? 'read', async ({ principal, policy }) =>
      mapMaybePromise(openMemory(command, input, { principal, policy, ...options }, services), (opened) =>
        runOpened(opened, execute),
      ),
    ).catch(rejectedWriteResult),
  );
}

/** Runs a command in an opened memory, and describes its fault as the place requires. */
export function runOpened(
  opened: OpenedMemory | MemoryResult,
  execute: (context: MemoryContext) => Promise<Executed>,
): Executed | Promise<Executed> {
  if ('content' in opened) return opened;
  const { context, describeFault, reopen } = opened;
  const executed = execute(context);
  if (describeFault === undefined) return executed;
  return executed.catch(async (error) =>
    reopen && isClosed(error) ? runOpened(await reopen(), execute) : describeFault(error),
  );
}

function runFeatureTool(request: FastifyRequest, call: ValidCall): Promise<MemoryResult> {
  const tool = request.server.tools.find(({ name }) => name === call.tool);
  if (tool === undefined) throw new Error(`No feature has the tool ${call.tool}.`);
  return tool.run(request, call);
}

/**
 * Converts errors about an archived memory and about a draft that cannot be created to results. The model sees a memory
 * that it cannot change.
 */
export function rejectedWriteResult(error: unknown): Executed {
  if (!(error instanceof ServiceError)) throw error;
  if (error.code === 'over_quota') return rejection(tooManyDrafts, 'over_quota');
  if (error.code === 'tenant_archived') return rejection(readOnly, 'tenant_archived');
  throw error;
}

function resultBlock({ content, isError }: Executed, { toolUseId }: ToolCall): object {
  const block = toolUseId === undefined ? {} : { type: 'tool_result', tool_use_id: toolUseId };
  return { ...block, content, is_error: isError };
}

function requestLanguage(request: FastifyRequest): Language {
  const given = request.headers['accept-language'];
  // Node's `fetch` sends `*`.
  if (given === undefined || given === '*') return 'en';
  const preferred = request.accepts().language([...languages]);
  return languages.find((language) => language === preferred) ?? 'en';
}

/** @throws ServiceError 400 if the key has invalid characters or is too long */
function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const given = request.headers['idempotency-key'];
  if (given === undefined) return undefined;
  if (typeof given === 'string' && IDEMPOTENCY_KEY.test(given)) return given;
  throw new ServiceError('invalid_idempotency_key');
}
