import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../support/faults/postgres-server.ts';
import { Replica } from '../../support/faults/replica.ts';
import type { Random } from '../../support/random.ts';
import { LIMIT_MS } from '../environment.ts';

interface Member {
  replica: Replica;
  /** The admin API's base URL. */
  adminUrl: string;
}

interface Response {
  status: number;
  body: unknown;
}

const RETRY_MS = 100;

/** Replicas on one database. Clients send each request to a random one, which may be down. */
export class Cluster {
  readonly members: readonly Member[];
  readonly problems: string[] = [];

  private constructor(members: readonly Member[]) {
    this.members = members;
  }

  static async start(count: number, env: Record<string, string>): Promise<Cluster> {
    const members: Member[] = [];
    for (let i = 0; i < count; i++) {
      const port = await freePort();
      const replica = await Replica.create({ ADMIN_PORT: String(port), ...env });
      members.push({ replica, adminUrl: `http://127.0.0.1:${port}/v1` });
      await replica.start();
    }
    return new Cluster(members);
  }

  get count(): number {
    return this.members.length;
  }

  url(member: number): string {
    return (this.members[member] as Member).replica.url;
  }

  adminUrl(member: number): string {
    return (this.members[member] as Member).adminUrl;
  }

  /** Sends a request to a random replica's admin API. Returns undefined if no complete response arrives. */
  async admin(random: Random, path: string, body?: object): Promise<Response | undefined> {
    const response = await requestJson(`${this.adminUrl(random.below(this.count))}${path}`, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: body ? { 'content-type': 'application/json' } : {},
    });
    if (response !== undefined && response.status >= 500 && response.status !== 503)
      this.problems.push(`an operation got ${response.status} ${JSON.stringify(response.body)}`);
    return response;
  }

  /** Repeats a request to the admin API until a replica executes or rejects it. */
  async insist(random: Random, path: string, body?: object): Promise<Response> {
    for (;;) {
      const response = await this.admin(random, path, body);
      if (response !== undefined && response.status < 500 && response.status !== 429) return response;
      await delay(RETRY_MS);
    }
  }

  /** Uploads an archive to the first replica's admin API. */
  async upload(path: string, archive: Buffer): Promise<void> {
    const headers = { 'content-type': 'application/x-tar' };
    const body = new Uint8Array(archive);
    const response = await fetch(`${this.adminUrl(0)}${path}`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`an archive was rejected: ${await response.text()}`);
    await response.body?.cancel();
  }

  async isReady(): Promise<boolean> {
    const statuses = await Promise.all(this.members.map(({ replica }) => replica.status('/readyz')));
    return statuses.every((status) => status === 200);
  }

  async end(): Promise<void> {
    await Promise.all(this.members.map(({ replica }) => replica.end()));
  }
}

/** Returns a response's status and JSON, or undefined if no complete response arrives. */
export async function requestJson(url: string, init: RequestInit): Promise<Response | undefined> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(LIMIT_MS) });
    return { status: response.status, body: await response.json() };
  } catch {
    return undefined;
  }
}
