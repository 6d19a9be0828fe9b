import { openMemory } from '../files/mounts/open-memory.ts';
import type { Services } from '../files/services.ts';
import type { Call } from '../files/tool-call.ts';
import { executeCommand, findCommand } from '../memory/commands/index.ts';
import type { Origin } from '../memory/origin.ts';
import type { MemoryResult } from '../memory/result.ts';
import { rejectedWriteResult, runOpened } from './execute.ts';

interface OperatorCommand {
  tenant: string;
  /** Input for the memory tool, valid or not. */
  input: Record<string, unknown>;
  origin: Origin;
  /** Tenants whose mounted memories the operator may see; null means all. */
  onlyTenants: string[] | null;
}

/**
 * Runs a memory command as for an agent that reads and writes. A mount with `propose` is read-only, because an operator
 * has no draft.
 *
 * @throws ServiceError 403 if the tenant is suspended
 */
export async function runOperatorCommand(
  services: Services,
  { tenant, input, origin, onlyTenants }: OperatorCommand,
): Promise<MemoryResult> {
  const { policies } = services;
  // A change to the settings applies immediately.
  policies.forget(tenant);
  const policy = await policies.policyFor(tenant, { autoCreate: false, ip: '' });
  const mounts = policy.mounts
    .filter((mount) => onlyTenants === null || onlyTenants.includes(mount.tenant))
    .map((mount) => (mount.access === 'propose' ? { ...mount, access: 'read_only' as const } : mount));
  const command = findCommand(input.command);
  const call: Call = {
    principal: { tenant, actor: origin.actor, access: 'read_write', autoCreate: false },
    policy: { ...policy, mounts },
    ip: '',
    language: 'en',
    requestId: origin.requestId ?? '',
    toolUseId: undefined,
    idempotencyKey: undefined,
    wantsProvenance: false,
    openDraft: async (mount) => mount,
  };
  try {
    const opened = await openMemory(command, input, call, services);
    return await runOpened(opened, (context) => executeCommand(command, input, context));
  } catch (error) {
    return rejectedWriteResult(error);
  }
}
