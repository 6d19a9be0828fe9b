/** An invitation to mount the tenant's memory. A later version of the service may add fields. */
export interface Invitation {
  id: string;
  access: 'read_only' | 'propose' | 'read_write';
  /** File or directory that is shared; undefined for the whole memory. */
  prefix?: string;
  /** Whether several tenants may accept it. */
  reusable: boolean;
  /** Number of acceptances. */
  accepted: number;
  /** Key that created it; null for an operator. */
  key: string | null;
  /** ISO 8601. */
  created_at: string;
  /** ISO 8601. */
  expires_at: string;
}

export interface InvitationOptions {
  /** `read_only` by default. */
  access?: 'read_only' | 'propose' | 'read_write' | undefined;
  /** File or directory that is shared, with everything below it: `/memories/shared`. By default, the whole memory. */
  prefix?: string | undefined;
  /** Whether several tenants may accept the invitation; false by default. */
  reusable?: boolean | undefined;
  /** Time until it expires, in seconds; 7 days by default. */
  expiresInSeconds?: number | undefined;
}

export interface AcceptanceOptions {
  /** The invitation's token. */
  token: string;
  /** Name of the directory below `/memories`. */
  name: string;
  /** Purpose of the directory, in words for the model. */
  instructions?: string | undefined;
}

/** A share of this tenant's memory with another tenant. */
export interface GivenShare {
  id: string;
  tenant: string;
  access: 'read_only' | 'propose' | 'read_write';
  /** File or directory that is shared; undefined for the whole memory. */
  prefix?: string;
  invitation: string;
  /** ISO 8601. */
  created_at: string;
}

/** A share of another tenant's memory with this tenant. */
export interface ReceivedShare {
  id: string;
  tenant: string;
  /** The directory: `/memories/team`. */
  path: string;
  access: 'read_only' | 'propose' | 'read_write';
  /** File or directory in the other memory that is shared; undefined for the whole memory. */
  prefix?: string;
  /** `ok`, `suspended`, `missing`, `name_taken`, or a value of a later version of the service. */
  status: string;
  /** ISO 8601. */
  created_at: string;
}

export interface Shares {
  given: GivenShare[];
  received: ReceivedShare[];
}

type Json = Record<string, unknown>;

/** A request below `/v1`. */
export interface SharingRequest<Result> {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: Json;
  read: (body: Json) => Result | undefined;
}

/**
 * Shares the memory with other tenants, and accepts their invitations, without an operator. The key needs `can_share`.
 * Each method makes one attempt, and throws a `MemoryServiceError`. If an acceptance has no response, look at `list`
 * before you repeat it, because an invitation may be valid only once.
 */
export class MemorySharing {
  readonly #send: <Result>(request: SharingRequest<Result>) => Promise<Result>;

  constructor(send: <Result>(request: SharingRequest<Result>) => Promise<Result>) {
    this.#send = send;
  }

  /** Creates an invitation. Its `token` is returned only here. */
  invite({
    access,
    prefix,
    reusable,
    expiresInSeconds,
  }: InvitationOptions = {}): Promise<Invitation & { token: string }> {
    const body = { access, prefix, reusable, expires_in_seconds: expiresInSeconds };
    return this.#send({ method: 'POST', path: 'invitations', body, read: readWith('token') });
  }

  /** Lists the invitations that are neither used nor expired. */
  async listInvitations(): Promise<Invitation[]> {
    const read = readWith<{ invitations: Invitation[] }>('invitations');
    return (await this.#send({ method: 'GET', path: 'invitations', read })).invitations;
  }

  /** Revokes an invitation. Shares that were accepted before remain. */
  async revoke(id: string): Promise<void> {
    await this.#send({ method: 'DELETE', path: `invitations/${encodeURIComponent(id)}`, read: readNothing });
  }

  /** Accepts an invitation: the other tenant's memory becomes a directory. */
  accept({ token, name, instructions }: AcceptanceOptions): Promise<ReceivedShare> {
    const body = { token, name, instructions };
    return this.#send({ method: 'POST', path: 'shares', body, read: readWith('path') });
  }

  /** Lists with whom the tenant shares its memory, and who shares with it. */
  list(): Promise<Shares> {
    return this.#send({ method: 'GET', path: 'shares', read: readWith('received') });
  }

  /** Ends a share that the tenant gives or receives. */
  async end(id: string): Promise<void> {
    await this.#send({ method: 'DELETE', path: `shares/${encodeURIComponent(id)}`, read: readNothing });
  }
}

const readNothing = () => true;

function readWith<Result>(field: string): (body: Json) => Result | undefined {
  return (body) => (field in body ? (body as unknown as Result) : undefined);
}
