export interface ContextOptions {
  /** A `version` from an earlier context. With it, the service returns only the changes, if they are known. */
  since?: string | undefined;
  /** Maximum length of the snapshot, from 1000 characters; the tenant's limit by default. */
  maxChars?: number | undefined;
  /** Aborts the call with a `MemoryServiceError` of code `aborted`. */
  signal?: AbortSignal | null | undefined;
}

/** Texts for an agent before its first token. A later version of the service may add fields. */
export interface Context {
  /** Text for the system prompt. It changes only with settings, mounts, and the service's release. */
  guidance: string;
  /** Text for the first message: pinned files, and a list of the other files. Null if `changes` is a text. */
  snapshot: string | null;
  /** Text to append since the given version, empty if nothing changed. Null without a version, or if not known. */
  changes: string | null;
  /** Version of the memory, for `since` in the next call. */
  version: string;
}

export function readContext(body: Record<string, unknown>): Context | undefined {
  const { guidance, snapshot, changes, version } = body;
  const isContext =
    typeof guidance === 'string' && typeof (snapshot ?? changes) === 'string' && typeof version === 'string';
  return isContext ? (body as unknown as Context) : undefined;
}

/** A source of contexts: a `MemoryClient`. */
export interface ContextSource {
  context(options?: ContextOptions): Promise<Context>;
}

/** Keeps an agent's memory in one conversation: a snapshot at the start, and later only the changes. */
export class MemoryContext {
  /** Text for the system prompt, empty until the first call of `start` or `update`. */
  guidance = '';
  /** Version of the memory that the conversation shows. Save it to continue the conversation in another process. */
  version: string | undefined;
  readonly #client: ContextSource;

  /** @param version the saved version of a conversation that continues */
  constructor(client: ContextSource, version?: string) {
    this.#client = client;
    this.version = version;
  }

  /**
   * Returns the snapshot for the first message.
   *
   * @throws MemoryServiceError when the service returns no context
   */
  async start(): Promise<string> {
    this.version = undefined;
    return (await this.update()) ?? '';
  }

  /**
   * Returns the text to append before the next message, or undefined if nothing changed.
   *
   * @throws MemoryServiceError when the service returns no context
   */
  async update(): Promise<string | undefined> {
    const { guidance, snapshot, changes, version } = await this.#client.context({ since: this.version });
    this.guidance = guidance;
    this.version = version;
    return snapshot ?? (changes || undefined);
  }
}
