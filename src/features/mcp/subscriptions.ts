import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mountedPolicy } from '../../core/files/mounts/mounted-policy.ts';
import type { Services } from '../../core/files/services.ts';
import type { Changes, Watched } from '../../core/files/watches.ts';
import { type RequestContext, requireContext } from '../../core/http/authentication.ts';
import { type Mount, mountAt, mountPath } from '../../core/memory/mount.ts';
import { parsePath, ROOT } from '../../core/memory/path.ts';
import { divideRights, isReadable, type Rights, rightsInMount } from '../../core/memory/rights.ts';
import type { SubscribedFiles } from './exchange.ts';
import { parseUri } from './resource-uri.ts';

/** Watches the files of open subscriptions. */
export class Subscriptions {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Returns a source for changes to a caller's files, after reading the files' current state. */
  async watch(request: FastifyRequest, reply: FastifyReply, files: SubscribedFiles): Promise<ServerEventBus> {
    const listeners = new Set<(event: ServerEvent) => void>();
    const publish = (event: ServerEvent) => {
      for (const listener of listeners) listener(event);
    };
    const watched = await readWatched(request, files, this.#services);
    const stops = await Promise.all(
      watched.map(({ uris, ...memory }) =>
        this.#services.watches.watch(memory, (changes) => {
          for (const event of toEvents(changes, uris)) publish(event);
        }),
      ),
    );
    const stop = () => {
      for (const each of stops) each();
    };
    if (reply.raw.destroyed) stop();
    else request.onClose.push(stop);
    return {
      publish,
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
  }
}

/** A memory in which a caller sees files: the caller's own memory, its draft, or a mounted memory. */
interface SeenMemory {
  tenant: string;
  mount: Mount | undefined;
  /** The caller's rights in this memory. */
  rights: Rights;
}

function seenMemories({ principal, policy: { mounts } }: RequestContext): SeenMemory[] {
  const { tenant, rights = [], proposal } = principal;
  const mounted = mounts.map((mount) => ({
    tenant: mount.tenant,
    mount,
    rights: rightsInMount(rights, mount) ?? [],
  }));
  if (proposal === undefined) return [{ tenant, mount: undefined, rights }, ...mounted];
  const { own, draft } = divideRights(rights);
  return [
    { tenant, mount: undefined, rights: own },
    { tenant: proposal.tenant, mount: proposal, rights: draft },
    ...mounted,
  ];
}

/** Divides a subscription's files and texts among the caller's memory and the mounted memories that can be read. */
async function readWatched(
  request: FastifyRequest,
  { resourceSubscriptions, resourcesListChanged }: SubscribedFiles,
  { policies }: Services,
): Promise<(Watched & { uris: Map<string, string[]> })[]> {
  const context = requireContext(request);
  const { mounts } = context.policy;
  const { proposal } = context.principal;
  const textUris = request.server.texts
    .map(({ uri }) => uri)
    .filter((uri) => resourceSubscriptions.includes(uri));
  const watched = seenMemories(context).map(async ({ tenant, mount, rights }) => {
    const policy = mount === undefined ? context.policy : await mountedPolicy(mount, policies, request.ip);
    if (typeof policy === 'string') return [];
    // A text may change with any file in these memories.
    const urisByPath = new Map<string, string[]>(textUris.length === 0 ? [] : [[ROOT, textUris]]);
    for (const uri of resourceSubscriptions) {
      const parsed = parsePath(parseUri(uri) ?? '');
      if (!parsed.ok) continue;
      if (mountAt(parsed.path, mounts) !== (mount === proposal ? undefined : mount)) continue;
      const path = mount === undefined ? parsed.path : ROOT + parsed.path.slice(mountPath(mount).length);
      if (!isReadable(rights, path)) continue;
      urisByPath.set(path, [...(urisByPath.get(path) ?? []), uri]);
    }
    if (urisByPath.size === 0 && !resourcesListChanged) return [];
    const { createdAt } = policy;
    return [{ tenant, createdAt, paths: [...urisByPath.keys()], uris: urisByPath, rights }];
  });
  return (await Promise.all(watched)).flat();
}

function toEvents({ paths, isListChanged }: Changes, uris: ReadonlyMap<string, string[]>): ServerEvent[] {
  const changed = paths.flatMap((path) => uris.get(path) ?? []);
  return [
    ...changed.map((uri) => ({ kind: 'resource_updated', uri }) as const),
    ...(isListChanged ? [{ kind: 'resources_list_changed' } as const] : []),
  ];
}
