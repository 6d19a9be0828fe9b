import { z } from 'zod';
import { validate } from '../../core/admin/validation.ts';
import { toolUseId } from '../../core/agents/execute-schema.ts';
import { type FeatureTool, observe } from '../../core/agents/tool.ts';
import type { Config } from '../../core/config.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { requireContext } from '../../core/http/authentication.ts';
import { failure, success } from '../../core/memory/result.ts';
import { acceptance, end, invitation, listing, revocation, shares } from './agent-operations.ts';
import {
  operationAccess,
  type RunSharing,
  type SharingInput,
  type SharingOperation,
} from './agent-sharing.ts';
import type { InvitationRecord, SharesRecord } from './sharing-schemas.ts';
import {
  COMMANDS,
  SHARING_COMMANDS,
  SHARING_TOOL,
  type SharingCommand,
  sharingFields,
} from './tool-input.ts';

const command = z.enum(SHARING_COMMANDS);

const blockSchema = z
  .object({
    type: z.literal('tool_use'),
    id: toolUseId,
    name: z.literal(SHARING_TOOL),
    input: z.object({ command, ...sharingFields() }),
  })
  .meta({ id: 'SharingUse', description: 'A whole `tool_use` block for the `memory_sharing` tool.' });

/** A command's effect, and the operation that decides about its access. */
interface Action {
  operation: SharingOperation;
  /** Returns the text for the model. */
  act(
    call: (operation: SharingOperation, input?: Partial<SharingInput>) => Promise<unknown>,
    fields: object,
  ): Promise<string>;
}

const ACTIONS: Readonly<Record<SharingCommand, Action>> = {
  list: {
    operation: shares as SharingOperation,
    async act(call) {
      const { given, received } = (await call(shares as SharingOperation)) as SharesRecord;
      const { invitations } = (await call(listing as SharingOperation)) as {
        invitations: InvitationRecord[];
      };
      return describeShares({ given, received }, invitations);
    },
  },
  invite: {
    operation: invitation as SharingOperation,
    async act(call, body) {
      const { id, token, expires_at } = (await call(invitation as SharingOperation, {
        body,
      })) as InvitationRecord & {
        token: string;
      };
      return `The invitation ${id} can be accepted until ${expires_at}. Its token, shown only once:\n${token}`;
    },
  },
  revoke: {
    operation: revocation as SharingOperation,
    async act(call, params) {
      await call(revocation as SharingOperation, { params });
      return 'The invitation was revoked.';
    },
  },
  accept: {
    operation: acceptance as SharingOperation,
    async act(call, body) {
      const share = (await call(acceptance as SharingOperation, {
        body,
      })) as SharesRecord['received'][number];
      return `The memory of ${share.tenant} is now the directory ${share.path} (${share.access}). The share is ${share.id}.`;
    },
  },
  end: {
    operation: end as SharingOperation,
    async act(call, params) {
      await call(end as SharingOperation, { params });
      return 'The share has ended.';
    },
  },
};

/** Returns the tool `memory_sharing`, for callers that may share. */
export function sharingTool({ SHARING }: Pick<Config, 'SHARING'>, run: RunSharing): FeatureTool {
  return {
    name: SHARING_TOOL,
    blockSchema,
    isFor: (request) => SHARING === 'on' && requireContext(request).principal.canShare === true,
    async run(request, { input, toolUseId, callerTrace }) {
      const { command: given, ...fields } = input;
      const name = command.safeParse(given).data;
      const details = { tool: SHARING_TOOL, toolUseId, callerTrace };
      if (name === undefined)
        return observe(request, { ...details, command: 'unknown', access: undefined }, async () =>
          failure(`Error: The field command must be one of ${SHARING_COMMANDS.join(', ')}.`),
        );
      const { operation, act } = ACTIONS[name];
      const call: Parameters<Action['act']>[0] = (each, part) =>
        run(request, each, { params: {}, query: {}, body: undefined, headers: {}, ...part });
      return observe(
        request,
        { ...details, command: operation.id, access: operationAccess(operation) },
        async () => {
          try {
            return success(await act(call, validate<object>(COMMANDS[name].fields, 'body', fields)));
          } catch (error) {
            return describeError(error);
          }
        },
      );
    },
  };
}

/** Converts errors that the model can correct to results. */
function describeError(error: unknown) {
  if (error instanceof ServiceError && error.status < 499) return failure(`Error: ${error.message}`);
  throw error;
}

function describeShares({ given, received }: SharesRecord, invitations: InvitationRecord[]): string {
  const lists = [
    [
      'Other memories that you see:',
      received.map(
        ({ id, tenant, path, access, prefix, status }) =>
          `${id}: ${path} shows ${tenant} (${describeAccess(access, prefix)}, ${status})`,
      ),
    ],
    [
      'Memories that see yours:',
      given.map(({ id, tenant, access, prefix }) => `${id}: ${tenant} (${describeAccess(access, prefix)})`),
    ],
    [
      'Open invitations:',
      invitations.map(
        ({ id, access, prefix, reusable, expires_at }) =>
          `${id}: ${describeAccess(access, prefix)}, ${reusable ? 'reusable' : 'once'}, until ${expires_at}`,
      ),
    ],
  ] as const;
  const texts = lists.flatMap(([title, lines]) => (lines.length === 0 ? [] : [[title, ...lines].join('\n')]));
  return texts.length === 0 ? 'There are no shares and no open invitations.' : texts.join('\n\n');
}

function describeAccess(access: string, prefix: string | undefined): string {
  return prefix === undefined ? access : `${access}, only ${prefix}`;
}
