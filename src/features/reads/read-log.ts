import { createHash, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { JobFaults } from '../../core/database/job-faults.ts';
import type { ReadTrail } from '../../core/files/read-trail.ts';
import type { FeatureService, Services } from '../../core/files/services.ts';
import { DAY_MS } from '../../core/lib/units.ts';
import { WriteBehindBuffer } from '../../core/lib/write-behind-buffer.ts';
import { type Actor, actorId, type Origin, printable, storedActor } from '../../core/memory/origin.ts';
import { countedAs } from '../../core/tenants/policy-cache.ts';
import { NO_TENANT } from '../../core/tenants/queries.ts';
import { findFileIdsQuery, recordReadsQuery } from './read-queries.ts';

/** Maximum number of buffered records. Further reads are dropped until the next flush. */
const MAX_BUFFERED = 50_000;
const RECORDS_A_STATEMENT = 1000;

/** Reads of a file by an actor that become one record. Times are in milliseconds since 1970. */
interface Reads {
  /** Tenant whose memory has the file, possibly a draft. */
  tenant: string;
  path: string;
  /** Tenant for which the reads are recorded: for a draft, its original. */
  recordedFor: string;
  /** The tenant's creation time; null if unknown. */
  createdAt: string | null;
  /** Day and reader, which identify the record together with the file; undefined for a record of one read. */
  identity: string | undefined;
  actor: Actor;
  viaTenant: string | null;
  toolUseId: string | null;
  count: number;
  firstAt: number;
  lastAt: number;
}

/** A record of a known file. */
interface ReadRecord extends Reads {
  id: string;
  memoryId: string;
}

/**
 * Buffers the reads of tenants whose read trail is on, and records them in the background. A failure to record reads
 * drops them with a log line.
 */
export class ReadLog implements ReadTrail, FeatureService {
  readonly #services: Services;
  readonly #log: Logger;
  readonly #faults: JobFaults;
  readonly #reads = new WriteBehindBuffer<Reads>((reads) => this.#write(reads), MAX_BUFFERED, { merge });
  #noted = 0;

  constructor(services: Services, log: Logger) {
    this.#services = services;
    this.#log = log;
    this.#faults = new JobFaults(log);
  }

  note(tenant: string, path: string, { actor, viaTenant, toolUseId }: Origin): void {
    const { policies } = this.#services;
    const policy = policies.recentPolicy(tenant);
    if (policy === undefined || policy.readLogDays === 0) return;
    const now = Date.now();
    const via = viaTenant === undefined ? null : (policies.recentPolicy(viaTenant)?.draftOf ?? viaTenant);
    const reader = `${Math.floor(now / DAY_MS)} ${actorId(actor)} ${via ?? ''}`;
    const isDaily = policy.readLog === 'daily';
    this.#noted++;
    this.#reads.add(`${tenant}${path}\n${isDaily ? reader : this.#noted}`, {
      tenant,
      path,
      recordedFor: countedAs(tenant, policy),
      createdAt: policy.draftOf !== null || policy.createdAt === NO_TENANT ? null : policy.createdAt,
      identity: isDaily ? reader : undefined,
      actor,
      viaTenant: via,
      toolUseId: toolUseId ?? null,
      count: 1,
      firstAt: now,
      lastAt: now,
    });
  }

  /** Records the buffered reads. */
  flush(): Promise<void> {
    return this.#reads.flush();
  }

  close(): Promise<void> {
    return this.flush();
  }

  /** One statement per tenant, because tenants are on different Citus shards. */
  async #write(all: Reads[]): Promise<void> {
    if (all.length === MAX_BUFFERED)
      this.#log.warn({ records: MAX_BUFFERED }, 'the read trail may lack reads');
    const byTenant = new Map<string, Reads[]>();
    for (const reads of all) {
      const own = byTenant.get(reads.tenant);
      if (own) own.push(reads);
      else byTenant.set(reads.tenant, [reads]);
    }
    for (const [tenant, reads] of byTenant) {
      for (let from = 0; from < reads.length; from += RECORDS_A_STATEMENT) {
        const part = reads.slice(from, from + RECORDS_A_STATEMENT);
        try {
          await this.#record(tenant, part);
        } catch (error) {
          this.#faults.report('reads', error, 'reads were not recorded', { records: part.length });
        }
      }
    }
  }

  async #record(tenant: string, reads: Reads[]): Promise<void> {
    const { query } = this.#services.database;
    const paths = [...new Set(reads.map(({ path }) => path))];
    const { rows } = await query(findFileIdsQuery, { tenant, paths });
    const records = toRecords(reads, new Map(rows.map(({ path, memoryId }) => [path, memoryId])));
    const [first] = records;
    if (first === undefined) return;
    await query(recordReadsQuery, {
      tenant: first.recordedFor,
      createdAt: first.createdAt,
      ids: records.map(({ id }) => id),
      memoryIds: records.map(({ memoryId }) => memoryId),
      actors: records.map(({ actor }) => storedActor(actor)),
      viaTenants: records.map(({ viaTenant }) => viaTenant),
      toolUseIds: records.map(({ toolUseId }) => (toolUseId === null ? null : printable(toolUseId))),
      counts: records.map(({ count }) => count),
      firstTimes: records.map(({ firstAt }) => firstAt),
      lastTimes: records.map(({ lastAt }) => lastAt),
    });
  }
}

function merge(buffered: Reads, newer: Reads): Reads {
  buffered.count += newer.count;
  buffered.lastAt = newer.lastAt;
  buffered.toolUseId = newer.toolUseId ?? buffered.toolUseId;
  return buffered;
}

/**
 * Returns the records of the files that were found, sorted by ID, so that replicas lock them in the same order. A file
 * that moved was read at several paths and has one record.
 */
function toRecords(reads: readonly Reads[], fileIds: ReadonlyMap<string, string>): ReadRecord[] {
  const records = new Map<string, ReadRecord>();
  for (const each of reads) {
    const memoryId = fileIds.get(each.path);
    if (memoryId === undefined) continue;
    const id = each.identity === undefined ? randomUUID() : hashToUuid(`${each.identity} ${memoryId}`);
    const same = records.get(id);
    if (same === undefined) records.set(id, { ...each, id, memoryId });
    else merge(same, each);
  }
  return [...records.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}

function hashToUuid(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
