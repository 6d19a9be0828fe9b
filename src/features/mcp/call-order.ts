import { isObject } from '../../core/lib/json.ts';
import { ShortLivedMap } from '../../core/lib/queues.ts';
import { isWithin, parsePath, ROOT } from '../../core/memory/path.ts';
import { parseUri } from './resource-uri.ts';

/** Maximum time that a call waits for earlier request bodies. */
const MAX_BODY_WAIT_MS = 1000;

/** The files and directories that a request reads or writes. */
export interface Access {
  paths: readonly string[];
  isWrite: boolean;
}

/**
 * Runs a caller's calls that need the same files in the order in which their requests arrived. Hosts send a turn's
 * calls at the same time over several connections, and a later call may view a file that an earlier call creates. The
 * protocol has no sessions and no order, so the arrival of a request's headers decides.
 */
export class CallOrder {
  /** Each caller's unfinished requests, in arrival order. */
  readonly #callers = new ShortLivedMap<string, Set<Arrival>>();

  /**
   * Registers a request that has arrived, before its body is read. The caller of this method must end the returned
   * arrival in every case.
   */
  arrive(caller: string): Arrival {
    let arrivals = this.#callers.get(caller);
    if (arrivals === undefined) {
      arrivals = new Set();
      this.#callers.set(caller, arrivals);
    }
    const others = arrivals;
    const arrival = new Arrival(others, () => {
      others.delete(arrival);
      if (others.size === 0) this.#callers.delete(caller);
    });
    others.add(arrival);
    return arrival;
  }
}

/** A request's place among its caller's unfinished requests. */
export class Arrival {
  readonly #others: ReadonlySet<Arrival>;
  readonly #onEnd: () => void;
  /** The request's access. Undefined while its body is being read. */
  #access: Access | undefined;
  readonly #read = new Gate();
  readonly #ended = new Gate();

  constructor(others: ReadonlySet<Arrival>, onEnd: () => void) {
    this.#others = others;
    this.#onEnd = onEnd;
  }

  /**
   * Waits until each earlier request has ended that writes a file needed by this request, or reads a file that this
   * request writes.
   */
  async start(access: Access): Promise<void> {
    this.#access = access;
    this.#read.open();
    if (access.paths.length === 0) return;
    let timeout: Promise<void> | undefined;
    for (const earlier of this.#earlierArrivals()) {
      if (earlier.#access === undefined) {
        timeout ??= new Promise((resolve) => {
          const timer = setTimeout(resolve, MAX_BODY_WAIT_MS);
          void this.#ended.opened.then(() => clearTimeout(timer));
        });
        await Promise.race([earlier.#read.opened, timeout]);
      }
      if (earlier.#access !== undefined && overlap(earlier.#access, access)) await earlier.#ended.opened;
    }
  }

  /** Ends the request. A second call has no effect. */
  end(): void {
    this.#read.open();
    this.#ended.open();
    this.#onEnd();
  }

  #earlierArrivals(): Arrival[] {
    const others = [...this.#others];
    return others.slice(0, others.indexOf(this));
  }
}

/** A promise that its owner resolves. */
class Gate {
  open: () => void = () => {};
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

function overlap(a: Access, b: Access): boolean {
  if (!a.isWrite && !b.isWrite) return false;
  return a.paths.some((one) => b.paths.some((other) => isWithin(one, other) || isWithin(other, one)));
}

/** Returns the files that the messages in a body read or write. */
export function requestAccess(body: unknown): Access {
  const accesses = [body].flat().map(messageAccess);
  return {
    paths: accesses.flatMap(({ paths }) => paths),
    isWrite: accesses.some(({ isWrite }) => isWrite),
  };
}

const NOTHING: Access = { paths: [], isWrite: false };

function messageAccess(message: unknown): Access {
  if (!isObject(message)) return NOTHING;
  const { method } = message;
  const params = isObject(message.params) ? message.params : {};
  // A prompt, and a resource other than a file, may contain any file.
  if (method === 'resources/list' || method === 'prompts/get') return { paths: [ROOT], isWrite: false };
  if (method === 'resources/read') return { paths: validPaths(parseUri(params.uri) ?? ROOT), isWrite: false };
  if (method !== 'tools/call' || !isObject(params.arguments)) return NOTHING;
  const { command, path = ROOT, old_path: from, new_path: to } = params.arguments;
  const isWrite = params.name === 'memory' && command !== 'view';
  return { paths: command === 'rename' ? validPaths(from, to) : validPaths(path), isWrite };
}

/** Returns the valid paths. A call with an invalid path needs no file, because its result is an error. */
function validPaths(...given: unknown[]): string[] {
  return given.flatMap((each) => {
    const parsed = typeof each === 'string' ? parsePath(each) : undefined;
    return parsed?.ok ? [parsed.path] : [];
  });
}
