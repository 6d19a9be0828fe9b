import { hasReason } from '../../errors/errors.ts';
import type { MemoryCommand, MemoryContext } from '../../memory/commands/command.ts';
import { type Executed, executeCommand, findCommand } from '../../memory/commands/index.ts';
import {
  cannotDeleteMount,
  cannotRenameMount,
  destinationExists,
  type Language,
  mountedWriteUnknown,
  mountReadOnly,
  mountUnavailable,
  mountUnavailableNote,
  readOnly,
  renameAcrossMemories,
  renameOutOfReadOnly,
} from '../../memory/messages.ts';
import { type Mount, mountAt, mountPath } from '../../memory/mount.ts';
import type { Origin } from '../../memory/origin.ts';
import { type MemoryPath, parsePath, ROOT } from '../../memory/path.ts';
import { failure, refusal } from '../../memory/result.ts';
import type { SecretScanner } from '../../memory/secrets/secrets.ts';
import {
  IdempotentReplay,
  type MemoryStore,
  type MemoryStores,
  type RequestKey,
  type StoreOptions,
} from '../../memory/store.ts';
import { countedAs, type TenantPolicy, type TenantPolicyCache } from '../../tenants/policy-cache.ts';
import type { Principal } from '../../tenants/principal.ts';
import { mountedRequestKeys, requestKey } from '../../tenants/stored-results.ts';
import { mountedPolicy, unlessUnreachable } from './mounted-policy.ts';
import { MountedStore } from './mounted-store.ts';
import { type MountedDirectory, withMountedRoots } from './root-listing.ts';

/**
 * The memory on which a call runs. `root` is a view of the root, which shows own entries and mounts together; `refused` is what touches a
 * mount itself, or two memories, or one that is read-only.
 */
export type Route =
  | { kind: 'own' | 'root' }
  | { kind: 'mount'; mount: Mount }
  | { kind: 'refused'; why: string; isRefusal: boolean };

export const OWN: Route = { kind: 'own' };

/** Chooses the memory for a call. A call with invalid input runs on the caller's own memory, which says what is wrong. */
export function routeOf(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  mounts: readonly Mount[],
): Route {
  if (command === undefined) return OWN;
  if (command.name === 'rename') return routeOfRename(input, mounts);
  const path = pathOf(input.path);
  if (path === undefined) return OWN;
  if (path === ROOT) return command.access === 'read' ? { kind: 'root' } : OWN;
  const mount = mountAt(path, mounts);
  if (mount === undefined) return OWN;
  if (command.access === 'read') return { kind: 'mount', mount };
  if (command.name === 'delete' && path === mountPath(mount)) return refuse(cannotDeleteMount(path));
  return mount.access === 'read_only' ? refuseReadOnly(mount, mounts) : { kind: 'mount', mount };
}

/** In the order of the contract: the source as a root, then the destination as one. */
function routeOfRename(input: Record<string, unknown>, mounts: readonly Mount[]): Route {
  const from = pathOf(input.old_path);
  const to = pathOf(input.new_path);
  if (from === undefined || to === undefined || from === ROOT || to === ROOT) return OWN;
  const source = mountAt(from, mounts);
  const destination = mountAt(to, mounts);
  if (source !== undefined && from === mountPath(source)) return refuse(cannotRenameMount(from));
  if (destination !== undefined && to === mountPath(destination)) return refuse(destinationExists(to));
  if (destination?.access === 'read_only') return refuseReadOnly(destination, mounts);
  if (source === destination) return source === undefined ? OWN : { kind: 'mount', mount: source };
  return refuse(
    source?.access === 'read_only' ? renameOutOfReadOnly(from, to) : renameAcrossMemories(from, to),
  );
}

/** What the model reads instead of a write to a mount that is read-only. */
export function readOnlyMount(mount: Mount, mounts: readonly Mount[]): string {
  const writable = mounts.filter((each) => each !== mount && each.access === 'read_write');
  return mountReadOnly(mountPath(mount), writable.map(mountPath));
}

function refuseReadOnly(mount: Mount, mounts: readonly Mount[]): Route {
  return { ...refuse(readOnlyMount(mount, mounts)), isRefusal: true };
}

function refuse(why: string): Extract<Route, { kind: 'refused' }> {
  return { kind: 'refused', why, isRefusal: false };
}

function pathOf(given: unknown): MemoryPath | undefined {
  const parsed = typeof given === 'string' ? parsePath(given) : undefined;
  return parsed?.ok ? parsed.path : undefined;
}

/** One call of the memory tool: who makes it, and what holds for it. */
export interface MemoryCall {
  principal: Principal;
  /** Of the caller's tenant. */
  policy: TenantPolicy;
  /** The address of the caller. */
  ip: string;
  language: Language;
  requestId: string;
  toolUseId: string | undefined;
  /** A write under it applies once. */
  idempotencyKey: string | undefined;
}

export interface MemoryServices {
  memory: MemoryStores;
  policies: TenantPolicyCache;
  scanner: SecretScanner;
}

/**
 * Executes one input of the memory tool, valid or not, on the memory that its path is in: the caller's own, or one that it mounts. A call
 * runs on one memory, with that memory's policy.
 *
 * @throws ServiceError when the caller's own memory is archived and the call writes to it
 */
export async function executeCall(
  input: Record<string, unknown>,
  call: MemoryCall,
  services: MemoryServices,
): Promise<Executed> {
  const { mounts } = call.policy;
  const command = findCommand(input.command);
  const route = mounts.length === 0 ? OWN : routeOf(command, input, mounts);
  switch (route.kind) {
    case 'own':
      return executeCommand(input, ownContext(input, command, call, services));
    case 'root': {
      const own = ownContext(input, command, call, services);
      const directories = mounts.map((mount) => directoryOf(mount, call, services));
      return executeCommand(input, { ...own, store: withMountedRoots(own.store, directories) });
    }
    case 'refused':
      if (call.principal.access === 'read_only') return refusal(readOnly);
      return (route.isRefusal ? refusal : failure)(route.why);
    case 'mount':
      return executeMounted(input, command, route.mount, call, services);
  }
}

/** What a call on the caller's own memory runs with. */
function ownContext(
  input: Record<string, unknown>,
  command: MemoryCommand | undefined,
  call: MemoryCall,
  { memory, scanner }: MemoryServices,
): MemoryContext {
  const { principal, policy, idempotencyKey } = call;
  const isKeyed = idempotencyKey !== undefined && command?.access === 'write';
  const store = memory.forTenant(principal.tenant, {
    autoCreate: principal.autoCreate,
    origin: originOf(call),
    createdAt: policy.createdAt,
    countedAs: countedAs(principal.tenant, policy),
    request: isKeyed ? requestKey(idempotencyKey, input) : undefined,
  });
  return contextOf(store, policy, call, scanner);
}

async function executeMounted(
  input: Record<string, unknown>,
  command: MemoryCommand | undefined,
  mount: Mount,
  call: MemoryCall,
  { memory, policies, scanner }: MemoryServices,
): Promise<Executed> {
  const { principal, idempotencyKey } = call;
  const seenAt = mountPath(mount);
  const policy = await mountedPolicy(mount, policies, call.ip);
  if (typeof policy === 'string') return failure(mountUnavailable(seenAt, policy));
  const keys =
    idempotencyKey !== undefined && command?.access === 'write'
      ? mountedRequestKeys(idempotencyKey, input, {
          caller: [principal.tenant, call.policy.createdAt],
          mounted: [mount.tenant, policy.createdAt],
        })
      : undefined;
  const inner = memory.forTenant(mount.tenant, {
    autoCreate: false,
    seenAt,
    createdAt: policy.createdAt,
    countedAs: countedAs(mount.tenant, policy),
    request: keys?.mounted,
    origin: { ...originOf(call), viaTenant: principal.tenant },
  });
  const store = new MountedStore(inner, seenAt, () => reserveKey(memory, call, keys?.own));
  try {
    return await executeCommand(input, contextOf(store, policy, call, scanner));
  } catch (error) {
    if (hasReason(error, 'tenant_archived')) return refusal(readOnlyMount(mount, call.policy.mounts));
    // The next attempt looks the mounted tenant up again.
    if (hasReason(error, 'tenant_replaced')) policies.forget(mount.tenant);
    // It was deleted while its policy was cached.
    if (hasReason(error, 'unknown_tenant')) return failure(mountUnavailable(seenAt, 'missing'));
    throw error;
  }
}

/**
 * Takes a call's idempotency key in the caller's own memory, where all writes of the caller meet.
 *
 * @throws ServiceError when the key was used for another memory
 */
async function reserveKey(
  memory: MemoryStores,
  call: MemoryCall,
  request: RequestKey | undefined,
): Promise<void> {
  if (request === undefined) return;
  const { tenant } = call.principal;
  const options: StoreOptions = {
    autoCreate: false,
    origin: originOf(call),
    createdAt: call.policy.createdAt,
    countedAs: countedAs(tenant, call.policy),
    request,
  };
  try {
    await memory.forTenant(tenant, options).reserveKey(failure(mountedWriteUnknown));
  } catch (error) {
    // An earlier attempt of this call took it. The mounted memory knows what came of that.
    if (error instanceof IdempotentReplay && error.result.content === mountedWriteUnknown) return;
    throw error;
  }
}

/** Returns a mount for a view of the root. */
function directoryOf(mount: Mount, call: MemoryCall, { memory, policies }: MemoryServices): MountedDirectory {
  const path = mountPath(mount);
  const origin = { ...originOf(call), viaTenant: call.principal.tenant };
  return {
    path,
    read: async (maxEntries) => {
      const listing = await unlessUnreachable(async () => {
        const policy = await mountedPolicy(mount, policies, call.ip);
        if (typeof policy === 'string') return policy;
        const { createdAt } = policy;
        const store = memory.forTenant(mount.tenant, { autoCreate: false, createdAt, origin });
        return seenFrom(store, path)
          .rootEntries(maxEntries)
          .catch((error) => {
            if (hasReason(error, 'tenant_replaced')) policies.forget(mount.tenant);
            throw error;
          });
      });
      return typeof listing === 'string' ? { note: mountUnavailableNote(path, listing) } : listing;
    },
  };
}

/** A memory that is only read. */
const seenFrom = (store: MemoryStore, path: ReturnType<typeof mountPath>) =>
  new MountedStore(store, path, async () => {});

/** The context of a call on one memory: the policy is that of the memory; the access and the length of results are those of the caller. */
function contextOf(
  store: MemoryStore,
  { limits, secrets: secretsMode, createExisting }: TenantPolicy,
  { principal, policy, language }: MemoryCall,
  scanner: SecretScanner,
): MemoryContext {
  return {
    store,
    createExisting,
    language,
    access: principal.access,
    limits: { maxFileBytes: limits.maxFileBytes, maxViewChars: policy.limits.maxViewChars },
    redaction: secretsMode === 'store' ? undefined : { mode: secretsMode, scanner },
  };
}

function originOf({ principal, requestId, toolUseId }: MemoryCall): Origin {
  return { actor: principal.actor, requestId, toolUseId };
}
