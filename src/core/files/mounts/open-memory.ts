import { hasReason, ServiceError } from '../../errors/errors.ts';
import { mapMaybePromise } from '../../lib/maybe-promise.ts';
import type { MemoryCommand, MemoryContext, ShownLines } from '../../memory/commands/memory-command.ts';
import { IdempotentReplay, type RequestKey } from '../../memory/memory-store.ts';
import {
  cannotDeleteMount,
  cannotRenameMount,
  destinationExists,
  directoryPartlyProposed,
  mountedWriteUnknown,
  mountReadOnly,
  mountUnavailable,
  mountUnavailableNote,
  readOnly,
  renameAcrossMemories,
  renameFromReadOnly,
  renameToProposal,
  tooManyMountDrafts,
} from '../../memory/messages.ts';
import { type Mount, mountAt, mountPath, ownProposal, shownPath } from '../../memory/mount.ts';
import { type MemoryPath, parsePath, ROOT } from '../../memory/path.ts';
import { failure, type MemoryResult, rejection } from '../../memory/result.ts';
import {
  divideRights,
  proposedWithin,
  rightAt,
  rightsInMount,
  rightsWithMounts,
} from '../../memory/rights.ts';
import { countedAs, type TenantPolicy } from '../../tenants/policy-cache.ts';
import { isReader, type Principal, proposesPaths } from '../../tenants/principal.ts';
import { mountedRequestKeys, requestKey } from '../../tenants/stored-results.ts';
import { Memory, type MemoryOptions } from '../memory.ts';
import { rejectedWrite } from '../rejected-write.ts';
import type { Services } from '../services.ts';
import { type Call, callOrigin } from '../tool-call.ts';
import { catchUnreachable, mountedPolicy, proposalPolicy } from './mounted-policy.ts';
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
  const writable = mounts.filter(({ name, access }) => name !== mount.name && access !== 'read_only');
  return mountReadOnly(mountPath(mount), writable.map(shownPath));
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
 * Returns the error for a write that the caller's rights, or the prefixes of writable mounts, do not cover; undefined
 * for other calls. A key that can only read gets its own error, but a propose-only key without a draft counts as a
 * writer.
 */
function rejectedByRights(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  { principal, policy: { mounts } }: Pick<Call, 'principal' | 'policy'>,
): string | undefined {
  const isReadOnly = principal.access === 'read_only' && principal.proposesAs === undefined;
  const writable = mounts.filter(({ access }) => access !== 'read_only');
  const rights = rightsWithMounts(principal.rights, writable);
  return rights === undefined || isReadOnly ? undefined : rejectedWrite(rights, changedPaths(command, input));
}

/**
 * Whether a call by a propose-only key opens a draft of the tenant: each write, except one to a mount with
 * `propose`, and one that the key's rights do not cover.
 */
export function opensDraft(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  call: Pick<Call, 'principal' | 'policy'>,
): boolean {
  return (
    command?.access === 'write' &&
    !isProposal(command, input, call.policy.mounts) &&
    rejectedByRights(command, input, call) === undefined
  );
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
  /** Opens the caller's next draft, for a write that failed because a reviewer has closed its draft. */
  reopen?: (() => Promise<OpenedMemory | MemoryResult>) | undefined;
}

/** Whether a call writes to a mount with `propose`. */
function isProposal(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  mounts: readonly Mount[],
): boolean {
  if (mounts.length === 0 || command?.access !== 'write') return false;
  const route = commandRoute(command, input, mounts);
  return route.kind === 'mount' && route.mount.access === 'propose';
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
  const rejected = rejectedByRights(command, input, call);
  if (rejected !== undefined) return rejection(rejected, 'outside_rights');
  const route = mounts.length === 0 ? OWN : commandRoute(command, input, mounts);
  switch (route.kind) {
    case 'own':
      return proposesPaths(call.principal)
        ? ownOrDraft(command, input, call, services)
        : ownContext(command, input, call, services);
    case 'root': {
      const directories = mounts.map((mount) => openDirectory(mount, call, services));
      return withDraft(call, services, (draft) =>
        ownContext(command, input, call, services, { mounts: directories, ...draft }),
      );
    }
    case 'rejected':
      if (call.principal.access === 'read_only') return rejection(readOnly, 'read_only');
      return route.isRejection ? rejection(route.why, 'read_only') : failure(route.why);
    case 'mount':
      return isProposal(command, input, mounts) && !isReader(call.principal)
        ? openProposal(command, input, route.mount, call, services)
        : openMounted(command, input, route.mount, call, services);
  }
}

/** Opens the caller's memory, or its draft for a write to paths to which the caller proposes changes. */
function ownOrDraft(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  call: Call,
  services: Services,
): OpenedMemory | MemoryResult | Promise<OpenedMemory | MemoryResult> {
  const { principal, policy } = call;
  if (command?.access !== 'write')
    return withDraft(call, services, (draft) => ownContext(command, input, call, services, draft));
  const paths = changedPaths(command, input);
  const [path = ROOT, to = path] = paths;
  const isValid = paths.length === (command.name === 'rename' ? 2 : 1) && !paths.includes(ROOT);
  if (!isValid) return ownContext(command, input, call, services);
  const [from, into] = [path, to].map((each) => proposedWithin(principal.rights ?? [], each));
  if (from === 'some' || into === 'some')
    return failure(directoryPartlyProposed(from === 'some' ? path : to));
  if (from !== into) return failure(renameToProposal(path, to));
  if (from === 'none') return ownContext(command, input, call, services);
  const mount = principal.proposal ?? ownProposal(principal.tenant, policy.createdAt);
  return openProposal(command, input, mount, call, services);
}

/** Calls `open` with the options for a view of the caller's memory, which shows the caller's open draft too. */
function withDraft<T>(
  call: Call,
  services: Services,
  open: (options: Pick<MemoryOptions, 'rights' | 'draft'>) => T | Promise<T>,
): T | Promise<T> {
  const { rights, proposal } = call.principal;
  if (rights === undefined || proposal === undefined) return open({});
  return proposalPolicy(proposal, services.policies, call.ip).then(({ createdAt }) => {
    const divided = divideRights(rights);
    const options = { autoCreate: false, createdAt, origin: callOrigin(call), rights: divided.draft };
    return open({ rights: divided.own, draft: new Memory(services, proposal.tenant, options) });
  });
}

/** Returns the context for a call on the caller's memory. */
function ownContext(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  call: Call,
  services: Services,
  options: Pick<MemoryOptions, 'rights' | 'mounts' | 'draft'> = {},
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
    ...options,
  });
  return mapMaybePromise(memoryContext(memory, command, policy, call, services), (context) => ({ context }));
}

/** Opens the caller's draft for a write, in place of a mounted memory or the caller's memory. */
async function openProposal(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  mount: Mount,
  call: Call,
  services: Services,
): Promise<OpenedMemory | MemoryResult> {
  const open = async () => {
    try {
      return await openMounted(command, input, await call.openDraft(mount), call, services);
    } catch (error) {
      if (hasReason(error, 'too_many_drafts') || hasReason(error, 'drafts_too_large'))
        return rejection(tooManyMountDrafts(proposedPath(command, input, mount, call)), 'over_quota');
      return describeMountFault(error, mount, call, services);
    }
  };
  const opened = await open();
  return 'content' in opened ? opened : { ...opened, reopen: open };
}

/** Returns the directory or file that a write's error names: the mount, or the path of the right in the caller's memory. */
function proposedPath(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  mount: Mount,
  { principal: { rights = [] } }: Call,
): MemoryPath {
  const at = mountPath(mount);
  const [path] = changedPaths(command, input);
  return (at === ROOT && path !== undefined && rightAt(rights, path)?.path) || at;
}

/** Whether a write failed because its draft is closed. A closed draft is archived and soon deleted. */
export function isClosed(error: unknown): boolean {
  return hasReason(error, 'tenant_archived') || hasReason(error, 'unknown_tenant');
}

/**
 * Returns the result for an error in a mounted memory.
 *
 * @throws `error` when no result describes it
 */
function describeMountFault(
  error: unknown,
  mount: Mount,
  { policy: { mounts } }: Call,
  { policies }: Pick<Services, 'policies'>,
): MemoryResult {
  if (mountPath(mount) === ROOT) throw error;
  if (hasReason(error, 'tenant_archived') || hasReason(error, 'draft_of_draft'))
    return rejection(readOnlyMount(mount, mounts), 'read_only');
  // The next attempt looks up the mounted tenant again.
  if (hasReason(error, 'tenant_replaced')) policies.forget(mount.draftOf?.tenant ?? mount.tenant);
  // The tenant was deleted while its settings were cached.
  if (hasReason(error, 'unknown_tenant') || hasReason(error, 'no_such_tenant'))
    return failure(mountUnavailable(mountPath(mount), 'missing'));
  throw error;
}

/** Returns the caller's tenant, for a caller that works in a draft too. */
function originalTenant({ principal, policy }: Pick<Call, 'principal' | 'policy'>) {
  const { tenant, draftOf, tenantCreatedAt } = principal;
  return draftOf === undefined
    ? { tenant, createdAt: policy.createdAt }
    : { tenant: draftOf, createdAt: tenantCreatedAt ?? null };
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
  const caller = originalTenant(call);
  const policy = await mountedPolicy(mount, policies, call.ip);
  if (typeof policy === 'string') {
    if (mountedAt === ROOT) {
      // Throws if the tenant is missing. Otherwise, it was created after its settings were cached.
      await policies.policyFor(caller.tenant, { autoCreate: false, ip: call.ip });
      throw new ServiceError('tenant_replaced', caller.tenant);
    }
    return failure(mountUnavailable(mountedAt, policy));
  }
  const { tenant: original, createdAt } = mount.draftOf ?? { ...mount, createdAt: policy.createdAt };
  const keys =
    idempotencyKey !== undefined && command?.access === 'write'
      ? mountedRequestKeys(idempotencyKey, input, {
          caller: [caller.tenant, caller.createdAt],
          mounted: [original, createdAt ?? null],
        })
      : undefined;
  const memory = new Memory(services, mount.tenant, {
    autoCreate: false,
    mountedAt,
    rights: rightsInMount(principal.rights, mount),
    createdAt: policy.createdAt,
    countedAs: countedAs(mount.tenant, policy),
    request: keys?.mounted,
    origin: { ...callOrigin(call), viaTenant: caller.tenant === original ? undefined : caller.tenant },
    reserveKey: keys && (() => reserveKey(keys.own, call, services)),
  });
  return {
    context: await memoryContext(memory, command, policy, call, services, mountAccess(mount, principal)),
    describeFault: (error: unknown) => describeMountFault(error, mount, call, services),
  };
}

/**
 * Reserves a call's idempotency key in the caller's memory, which stores the keys for all the caller's writes.
 *
 * @throws ServiceError when the key was used for another memory
 */
async function reserveKey(request: RequestKey, call: Call, services: Services): Promise<void> {
  const { tenant, createdAt } = originalTenant(call);
  const memory = new Memory(services, tenant, {
    autoCreate: false,
    origin: callOrigin(call),
    createdAt,
    countedAs: countedAs(tenant, call.policy),
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

/** Returns a caller's access to a mounted memory. A mount with `propose` is writable as the caller's draft only. */
function mountAccess({ access, draftOf }: Mount, principal: Principal): Principal['access'] {
  if (access !== 'propose') return principal.access;
  return draftOf !== undefined && !isReader(principal) ? 'read_write' : 'read_only';
}

/** Returns a mount for a view of the root. */
function openDirectory(mount: Mount, call: Call, services: Services): MountedDirectory {
  const { policies } = services;
  const path = mountPath(mount);
  const { tenant } = call.principal;
  const origin = { ...callOrigin(call), viaTenant: tenant };
  const rights = rightsInMount(call.principal.rights, mount);
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
 * Returns the context for a call on one memory. The settings are from that memory. The maximum result length is from
 * the caller.
 */
function memoryContext(
  memory: Memory,
  command: MemoryCommand | undefined,
  settings: TenantPolicy,
  call: Call,
  services: Services,
  access = call.principal.access,
): MemoryContext | Promise<MemoryContext> {
  const { policy, language, wantsProvenance } = call;
  const { records, provenance } = services;
  const context = {
    store: records === undefined ? memory : records.traceMemory(memory),
    createExisting: settings.createExisting,
    language,
    describeLines:
      wantsProvenance && provenance ? (shown: ShownLines) => provenance.describeView(shown, call) : undefined,
    access,
    limits: { maxFileBytes: settings.limits.maxFileBytes, maxViewChars: policy.limits.maxViewChars },
  };
  if (command?.access !== 'write') return { ...context, redaction: undefined };
  const redaction = services.redactionForWrite(memory.tenant, settings);
  return mapMaybePromise(redaction, (redaction) => ({ ...context, redaction }));
}
