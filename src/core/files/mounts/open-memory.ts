import { hasReason } from '../../errors/errors.ts';
import { mapMaybePromise } from '../../lib/maybe-promise.ts';
import type { MemoryCommand, MemoryContext, ShownLines } from '../../memory/commands/memory-command.ts';
import { IdempotentReplay, type RequestKey } from '../../memory/memory-store.ts';
import {
  cannotDeleteMount,
  cannotRenameMount,
  destinationExists,
  mountedWriteUnknown,
  mountReadOnly,
  mountUnavailable,
  mountUnavailableNote,
  readOnly,
  renameAcrossMemories,
  renameFromReadOnly,
} from '../../memory/messages.ts';
import { type Mount, mountAt, mountPath } from '../../memory/mount.ts';
import { type MemoryPath, parsePath, ROOT } from '../../memory/path.ts';
import { failure, type MemoryResult, rejection } from '../../memory/result.ts';
import { rightsInMount } from '../../memory/rights.ts';
import { countedAs, type TenantPolicy } from '../../tenants/policy-cache.ts';
import type { Principal } from '../../tenants/principal.ts';
import { mountedRequestKeys, requestKey } from '../../tenants/stored-results.ts';
import { Memory } from '../memory.ts';
import { rejectedWrite } from '../rejected-write.ts';
import type { Services } from '../services.ts';
import { type Call, callOrigin } from '../tool-call.ts';
import { catchUnreachable, mountedPolicy } from './mounted-policy.ts';
import type { MountedDirectory } from './root-listing.ts';

/**
 * The memory on which a call runs. `root` is a view of the root, which shows the caller's entries and the mounts.
 * `rejected` is a call that would change a mount itself, involves two memories, or writes to a read-only mount.
 */
export type Route =
  | { kind: 'own' | 'root' }
  | { kind: 'mount'; mount: Mount }
  | { kind: 'rejected'; why: string; isRejection: boolean };

export const OWN: Route = { kind: 'own' };

/** Chooses the memory for a call. A call with invalid input runs on the caller's memory, which reports the error. */
export function commandRoute(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  mounts: readonly Mount[],
): Route {
  if (command === undefined) return OWN;
  if (command.name === 'rename') return renameRoute(input, mounts);
  const path = parseGivenPath(input.path);
  if (path === undefined) return OWN;
  if (path === ROOT) return command.access === 'read' ? { kind: 'root' } : OWN;
  const mount = mountAt(path, mounts);
  if (mount === undefined) return OWN;
  if (command.access === 'read') return { kind: 'mount', mount };
  if (command.name === 'delete' && path === mountPath(mount)) return reject(cannotDeleteMount(path));
  return mount.access === 'read_only' ? rejectReadOnly(mount, mounts) : { kind: 'mount', mount };
}

/** Checks in the contract's order: first whether the source is a mount, then whether the destination is a mount. */
function renameRoute(input: Record<string, unknown>, mounts: readonly Mount[]): Route {
  const from = parseGivenPath(input.old_path);
  const to = parseGivenPath(input.new_path);
  if (from === undefined || to === undefined || from === ROOT || to === ROOT) return OWN;
  const source = mountAt(from, mounts);
  const destination = mountAt(to, mounts);
  if (source !== undefined && from === mountPath(source)) return reject(cannotRenameMount(from));
  if (destination !== undefined && to === mountPath(destination)) return reject(destinationExists(to));
  if (destination?.access === 'read_only') return rejectReadOnly(destination, mounts);
  if (source === destination) return source === undefined ? OWN : { kind: 'mount', mount: source };
  return reject(
    source?.access === 'read_only' ? renameFromReadOnly(from, to) : renameAcrossMemories(from, to),
  );
}

/** Returns the error that the model reads after a write to a read-only mount. */
export function readOnlyMount(mount: Mount, mounts: readonly Mount[]): string {
  const writable = mounts.filter((each) => each !== mount && each.access === 'read_write');
  return mountReadOnly(mountPath(mount), writable.map(mountPath));
}

function rejectReadOnly(mount: Mount, mounts: readonly Mount[]): Route {
  return { ...reject(readOnlyMount(mount, mounts)), isRejection: true };
}

function reject(why: string): Extract<Route, { kind: 'rejected' }> {
  return { kind: 'rejected', why, isRejection: false };
}

function parseGivenPath(given: unknown): MemoryPath | undefined {
  const parsed = typeof given === 'string' ? parsePath(given) : undefined;
  return parsed?.ok ? parsed.path : undefined;
}

/** Returns the valid paths that a command changes. */
function changedPaths(command: MemoryCommand | undefined, input: Record<string, unknown>): MemoryPath[] {
  if (command?.access !== 'write') return [];
  const given = command.name === 'rename' ? [input.old_path, input.new_path] : [input.path];
  return given.flatMap((each) => parseGivenPath(each) ?? []);
}

/**
 * Returns the error for a write that the caller's rights do not cover; undefined for other calls. A key that can only
 * read gets its own error, but a propose-only key without a draft counts as a writer.
 */
export function rejectedByRights(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  { access, rights, proposesAs }: Pick<Principal, 'access' | 'rights' | 'proposesAs'>,
): string | undefined {
  const isReadOnly = access === 'read_only' && proposesAs === undefined;
  return rights === undefined || isReadOnly ? undefined : rejectedWrite(rights, changedPaths(command, input));
}

/** The memory on which a call runs. */
export interface OpenedMemory {
  context: MemoryContext;
  /**
   * Returns the result for an error in a mounted memory; undefined for the caller's memory.
   *
   * @throws `error` when no result describes it
   */
  describeFault?: ((error: unknown) => MemoryResult) | undefined;
}

/**
 * Opens the memory that contains an input's path: the caller's memory or a mounted one. A call runs on one memory, with
 * the settings of that memory. A call that would change a mount itself, or involves two memories, returns a result
 * without opening a memory.
 *
 * @param command undefined when the input names no command
 * @param input input for the memory tool, valid or not
 */
export function openMemory(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  call: Call,
  services: Services,
): OpenedMemory | MemoryResult | Promise<OpenedMemory | MemoryResult> {
  const { mounts } = call.policy;
  const rejected = rejectedByRights(command, input, call.principal);
  if (rejected !== undefined) return rejection(rejected);
  const route = mounts.length === 0 ? OWN : commandRoute(command, input, mounts);
  switch (route.kind) {
    case 'own':
      return ownContext(command, input, call, services);
    case 'root': {
      const directories = mounts.map((mount) => openDirectory(mount, call, services));
      return ownContext(command, input, call, services, directories);
    }
    case 'rejected':
      if (call.principal.access === 'read_only') return rejection(readOnly);
      return (route.isRejection ? rejection : failure)(route.why);
    case 'mount':
      return openMounted(command, input, route.mount, call, services);
  }
}

/** Returns the context for a call on the caller's memory. */
function ownContext(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  call: Call,
  services: Services,
  mounts?: readonly MountedDirectory[],
): OpenedMemory | Promise<OpenedMemory> {
  const { principal, policy, idempotencyKey } = call;
  const isKeyed = idempotencyKey !== undefined && command?.access === 'write';
  const memory = new Memory(services, principal.tenant, {
    autoCreate: principal.autoCreate,
    origin: callOrigin(call),
    createdAt: policy.createdAt,
    countedAs: countedAs(principal.tenant, policy),
    request: isKeyed ? requestKey(idempotencyKey, input) : undefined,
    rights: principal.rights,
    mounts,
  });
  return mapMaybePromise(memoryContext(memory, command, policy, call, services), (context) => ({ context }));
}

async function openMounted(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  mount: Mount,
  call: Call,
  services: Services,
): Promise<OpenedMemory | MemoryResult> {
  const { principal, idempotencyKey } = call;
  const { policies } = services;
  const mountedAt = mountPath(mount);
  const policy = await mountedPolicy(mount, policies, call.ip);
  if (typeof policy === 'string') return failure(mountUnavailable(mountedAt, policy));
  const keys =
    idempotencyKey !== undefined && command?.access === 'write'
      ? mountedRequestKeys(idempotencyKey, input, {
          caller: [principal.tenant, call.policy.createdAt],
          mounted: [mount.tenant, policy.createdAt],
        })
      : undefined;
  const memory = new Memory(services, mount.tenant, {
    autoCreate: false,
    mountedAt,
    rights: principal.rights && rightsInMount(principal.rights, mountedAt),
    createdAt: policy.createdAt,
    countedAs: countedAs(mount.tenant, policy),
    request: keys?.mounted,
    origin: { ...callOrigin(call), viaTenant: principal.tenant },
    reserveKey: keys && (() => reserveKey(keys.own, call, services)),
  });
  const describeFault = (error: unknown) => {
    if (hasReason(error, 'tenant_archived')) return rejection(readOnlyMount(mount, call.policy.mounts));
    // The next attempt looks up the mounted tenant again.
    if (hasReason(error, 'tenant_replaced')) policies.forget(mount.tenant);
    // The tenant was deleted while its settings were cached.
    if (hasReason(error, 'unknown_tenant')) return failure(mountUnavailable(mountedAt, 'missing'));
    throw error;
  };
  return { context: await memoryContext(memory, command, policy, call, services), describeFault };
}

/**
 * Reserves a call's idempotency key in the caller's memory, which stores the keys for all the caller's writes.
 *
 * @throws ServiceError when the key was used for another memory
 */
async function reserveKey(request: RequestKey, call: Call, services: Services): Promise<void> {
  const { principal, policy } = call;
  const memory = new Memory(services, principal.tenant, {
    autoCreate: false,
    origin: callOrigin(call),
    createdAt: policy.createdAt,
    countedAs: countedAs(principal.tenant, policy),
    request,
  });
  try {
    await memory.reserveKey(failure(mountedWriteUnknown));
  } catch (error) {
    // An earlier attempt at this call reserved the key: a reservation's hash names the mounted memory. The mounted
    // memory stores the result of that attempt.
    if (error instanceof IdempotentReplay) return;
    throw error;
  }
}

/** Returns a mount for a view of the root. */
function openDirectory(mount: Mount, call: Call, services: Services): MountedDirectory {
  const { policies } = services;
  const path = mountPath(mount);
  const { tenant, rights: own } = call.principal;
  const origin = { ...callOrigin(call), viaTenant: tenant };
  const rights = own && rightsInMount(own, path);
  return {
    path,
    read: async (maxEntries) => {
      const listing = await catchUnreachable(async () => {
        const policy = await mountedPolicy(mount, policies, call.ip);
        if (typeof policy === 'string') return policy;
        const { createdAt } = policy;
        const options = { autoCreate: false, createdAt, origin, rights, mountedAt: path };
        return new Memory(services, mount.tenant, options).rootEntries(maxEntries).catch((error) => {
          if (hasReason(error, 'tenant_replaced')) policies.forget(mount.tenant);
          throw error;
        });
      });
      return typeof listing === 'string' ? { note: mountUnavailableNote(path, listing) } : listing;
    },
  };
}

/**
 * Returns the context for a call on one memory. The settings are from that memory. The access and the maximum result
 * length are from the caller.
 */
function memoryContext(
  memory: Memory,
  command: MemoryCommand | undefined,
  settings: TenantPolicy,
  call: Call,
  services: Services,
): MemoryContext | Promise<MemoryContext> {
  const { principal, policy, language, wantsProvenance } = call;
  const { records, provenance } = services;
  const context = {
    store: records === undefined ? memory : records.traceMemory(memory),
    createExisting: settings.createExisting,
    language,
    describeLines:
      wantsProvenance && provenance ? (shown: ShownLines) => provenance.describeView(shown, call) : undefined,
    access: principal.access,
    limits: { maxFileBytes: settings.limits.maxFileBytes, maxViewChars: policy.limits.maxViewChars },
  };
  if (command?.access !== 'write') return { ...context, redaction: undefined };
  const redaction = services.redactionForWrite(memory.tenant, settings);
  return mapMaybePromise(redaction, (redaction) => ({ ...context, redaction }));
}
