import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { identifyAsNew } from '../../core/agents/redirect.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { mountedPolicy } from '../../core/files/mounts/mounted-policy.ts';
import type { Services } from '../../core/files/services.ts';
import type { Changes, Watched } from '../../core/files/watches.ts';
import { countedTenant, type RequestContext, requireContext } from '../../core/http/authentication.ts';
import { type Mount, mountAt, mountPath } from '../../core/memory/mount.ts';
import { parsePath, ROOT } from '../../core/memory/path.ts';
import { NO_TENANT } from '../../core/tenants/queries.ts';
import { RequestLimiter } from '../../core/tenants/request-limiter.ts';
import type { SubscribedFiles } from './exchange.ts';
import { parseUri } from './resource-uri.ts';

/** Limits on open subscriptions, per replica and per tenant. A subscription uses no slot. */
const MAX_OPEN = { total: 1000, perKey: 100 };
/**
 * Interval at which an open subscription's credential is checked again, as for a new request. Keys and policies are
 * cached for `AUTH_CACHE_SECONDS`.
 */
const CHECK_CREDENTIAL_MS = 1000;

interface Open {
  end(): Promise<void>;
}

/** A replica's open subscriptions. */
export class Subscriptions {
  readonly #services: Services;
  readonly #limiter = new RequestLimiter({ ...MAX_OPEN, maxWaiting: 0, maxWaitMs: 0 });
  readonly #open = new Set<Open>();

  constructor(app: FastifyInstance, services: Services) {
    this.#services = services;
    // An open stream would delay the shutdown until its timeout.
    app.addHook('preClose', async () => {
      await Promise.all([...this.#open].map((subscription) => subscription.end()));
    });
  }

  /**
   * Counts a subscription until its connection closes.
   *
   * @throws ServiceError 429 or 503 if too many subscriptions are open
   */
  async admit(request: FastifyRequest): Promise<void> {
    const slot = this.#limiter.slot(countedTenant(requireContext(request)));
    request.onClose.push(() => slot.release());
    await slot.acquire(1);
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

  /** Ends a subscription when the service stops, or when its caller loses the access to the memory. */
  keep(request: FastifyRequest, subscription: Open): void {
    const before = requireContext(request);
    const check = async () => {
      try {
        await identifyAsNew(request);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.status >= 500) return;
        return subscription.end();
      }
      // The host subscribes again, and then watches the new mounts or the new draft.
      if (!hasSameMemories(before, requireContext(request))) await subscription.end();
    };
    let isChecking = false;
    const timer = setInterval(async () => {
      if (isChecking) return;
      isChecking = true;
      await check();
      isChecking = false;
    }, CHECK_CREDENTIAL_MS).unref();
    this.#open.add(subscription);
    request.onClose.push(() => {
      clearInterval(timer);
      this.#open.delete(subscription);
    });
  }
}

/** A memory in which a caller sees files: the caller's own memory, or a mounted memory. */
interface SeenMemory {
  tenant: string;
  mount: Mount | undefined;
}

function seenMemories({ principal, policy: { mounts } }: RequestContext): SeenMemory[] {
  const mounted = mounts.map((mount) => ({ tenant: mount.tenant, mount }));
  return [{ tenant: principal.tenant, mount: undefined }, ...mounted];
}

/** Whether two contexts have the same memories. A later tenant with the same ID has another memory. */
function hasSameMemories(before: RequestContext, now: RequestContext): boolean {
  const { createdAt } = before.policy;
  const isReplaced = createdAt !== NO_TENANT && createdAt !== now.policy.createdAt;
  return !isReplaced && JSON.stringify(seenMemories(before)) === JSON.stringify(seenMemories(now));
}

/** Divides a subscription's files among the caller's memory and the mounted memories that can be read. */
async function readWatched(
  request: FastifyRequest,
  { resourceSubscriptions, resourcesListChanged }: SubscribedFiles,
  { policies }: Services,
): Promise<(Watched & { uris: Map<string, string[]> })[]> {
  const context = requireContext(request);
  const { mounts } = context.policy;
  const watched = seenMemories(context).map(async ({ tenant, mount }) => {
    const policy = mount === undefined ? context.policy : await mountedPolicy(mount, policies, request.ip);
    if (typeof policy === 'string') return [];
    const urisByPath = new Map<string, string[]>();
    for (const uri of resourceSubscriptions) {
      const parsed = parsePath(parseUri(uri) ?? '');
      if (!parsed.ok || mountAt(parsed.path, mounts) !== mount) continue;
      const path = mount === undefined ? parsed.path : ROOT + parsed.path.slice(mountPath(mount).length);
      urisByPath.set(path, [...(urisByPath.get(path) ?? []), uri]);
    }
    if (urisByPath.size === 0 && !resourcesListChanged) return [];
    return [{ tenant, createdAt: policy.createdAt, paths: [...urisByPath.keys()], uris: urisByPath }];
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
