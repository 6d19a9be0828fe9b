/**
 * Texts planted in files, versions, splices, paths, drafts, stored results, and archives of many tenants: after an
 * erasure, no table, export, log, or metric has them in any encoding, and all other data is unchanged. The variable
 * TENANTS sets the number of tenants.
 *
 * @module-tag long-on-pglite
 */
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { readContentsQuery } from '../../src/core/history/history.ts';
import { eraseJobs } from '../../src/features/incidents/erase-job.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';
import { makeKey } from '../support/admin.ts';
import { Drafting } from '../support/drafting.ts';
import { encodeVariants, findEncodings, foundInTables } from '../support/encodings.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { createRandom, type Random } from '../support/random.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant, type Service } from '../support/test-service.ts';

const TENANTS = Number(process.env.TENANTS ?? (process.env.TEST_SET === 'long' ? 200 : 2));
/** Limit for a test that hangs. */
const TIMEOUT_MS = 30 * 60_000;
const STEPS = 25;
const TEXT = 'Zoë "PIN" 4711 & co';
const [HEAD, TAIL] = ['Zoë "PI', 'N" 4711 & co'];
const LINES = ['one', 'two', 'three', `x ${TEXT} y`, HEAD, TAIL, TEXT, ''];
const NAMES = ['a', 'b', TEXT, `of ${TEXT}`];

/** A memory in the model: its files' contents by path. */
class Memory {
  readonly files = new Map<string, string>();
  readonly #service: Service;
  readonly #random: Random;
  readonly tenant: string;
  #number: number;

  /** @param original memory from which the tenant was copied */
  constructor(service: Service, random: Random, tenant: string, original?: Memory) {
    this.#service = service;
    this.#random = random;
    this.tenant = tenant;
    this.#number = original === undefined ? 0 : 1000;
    for (const [path, content] of original?.files ?? []) this.files.set(path, content);
  }

  async step(): Promise<void> {
    const paths = [...this.files.keys()];
    const path = this.#random.of(paths);
    const kind = this.#random.below(10);
    if (path === undefined || kind < 3) return this.#create();
    const content = this.files.get(path) ?? '';
    if (kind < 6) {
      const line = this.#random.of(LINES);
      await this.#run(cmd.insert(path, this.#random.below(content.split('\n').length), `${line}\n`));
      return this.#read(path);
    }
    // The edit can complete the text from its halves, or split it.
    const [from, to] = this.#random.of([
      [`${HEAD}\n${TAIL}`, TEXT],
      [TEXT, `${HEAD}${TAIL}!`],
      ['two', TEXT],
      [TEXT, 'two'],
      [`${TEXT}`, `${HEAD}\n${TAIL}`],
    ] as const);
    if (kind < 8 && content.split(from).length === 2) {
      await this.#run(cmd.replace(path, from, to));
      return this.#read(path);
    }
    if (kind === 8) {
      const moved = this.#newPath();
      await this.#run(cmd.rename(path, moved));
      this.files.delete(path);
      this.files.set(moved, content);
    } else if (kind === 9) {
      await this.#run(cmd.delete(path));
      this.files.delete(path);
    }
  }

  /** Returns the expected files after the erasure. New names are unique, because each has a number. */
  expectedFiles(): Record<string, string> {
    return Object.fromEntries(
      [...this.files].map(([path, content]) => [
        path.replaceAll(TEXT, 'erased'),
        content.replaceAll(TEXT, '[erased]'),
      ]),
    );
  }

  async #create(): Promise<void> {
    const path = this.#newPath();
    const lines = Array.from({ length: this.#random.below(5) }, () => `${this.#random.of(LINES)}\n`);
    await this.#run(cmd.create(path, lines.join('')));
    this.files.set(path, lines.join(''));
  }

  #newPath(): string {
    const directories = Array.from({ length: this.#random.below(3) }, () => this.#random.of(NAMES));
    return ['/memories', ...directories, `${this.#random.of(NAMES)} ${++this.#number}.md`].join('/');
  }

  async #run(input: object): Promise<void> {
    const headers = this.#random.below(2) === 0 ? {} : { 'idempotency-key': `k${++this.#number}` };
    const { body } = await this.#service.execute(input, { tenant: this.tenant, headers });
    expect(body).toMatchObject({ is_error: false });
  }

  async #read(path: string): Promise<void> {
    const [row] = await this.#service.query(
      'SELECT content FROM entries WHERE tenant_id = $1 AND path = $2',
      [this.tenant, path],
    );
    this.files.set(path, String(row?.content));
  }
}

describeServiceOnOwnDatabase('an erasure in random memories', (service) => {
  const drafting = new Drafting(service);

  /** Returns the contents and paths of all superseded versions that do not contain the text. */
  async function cleanVersions(): Promise<Map<string, string>> {
    const clean = new Map<string, string>();
    for (const { id } of await service().query('SELECT id FROM tenants')) {
      const tenant = String(id);
      const versions = await service().query(
        'SELECT id, memory_id, path FROM versions WHERE tenant_id = $1 AND redacted_at IS NULL',
        [tenant],
      );
      const { rows } = await service().database.query(readContentsQuery, {
        tenant,
        memoryIds: versions.map((version) => String(version.memory_id)),
        ids: versions.map((version) => String(version.id)),
      });
      for (const { item, content } of rows) {
        const version = versions[item - 1];
        const text = `${version?.path}: ${content}`;
        if (!text.includes(TEXT)) clean.set(`${tenant} ${version?.id}`, text);
      }
    }
    return clean;
  }

  /** Returns all rows for a tenant. */
  const tenantRows = (tenant: string) =>
    Promise.all(
      ['entries', 'versions', 'past_directories', 'idempotency_keys'].map((table) =>
        service().query(`SELECT t::text AS row FROM ${table} AS t WHERE tenant_id = $1 ORDER BY 1`, [tenant]),
      ),
    );

  it('removes the text in every encoding, and keeps all other data', {
    tags: ['random'],
    timeout: TIMEOUT_MS,
  }, async () => {
    const lines: string[] = [];
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    const { database } = service();
    const config = loadConfig({ AUTH: 'keys' });
    const app = await buildAdminApp({ config, database, log });
    const { key } = await makeKey(service(), { isAdmin: true });
    const call = async (method: 'GET' | 'POST', path: string, payload?: Buffer | object) => {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(Buffer.isBuffer(payload) && { 'content-type': 'application/x-tar' }),
      };
      const response = await app.inject({
        method,
        url: `/v1${path}`,
        headers,
        ...(payload && { payload }),
      });
      expect(response.statusCode, response.body.slice(0, 300)).toBeLessThan(300);
      return response;
    };

    const memories: Memory[] = [];
    const drafts: Memory[] = [];
    for (let seed = 1; seed <= TENANTS; seed++) {
      const random = createRandom(seed);
      const memory = new Memory(service(), random, freshTenant('random'));
      for (let step = 0; step < STEPS; step++) await memory.step();
      memories.push(memory);
      if (random.below(3) === 0) {
        const draft = await drafting.create(memory.tenant, { title: `for ${random.of([TEXT, 'all'])}` });
        const ofDraft = new Memory(service(), random, draft.id, memory);
        for (let step = 0; step < 5; step++) await ofDraft.step();
        drafts.push(ofDraft);
      }
      if (random.below(3) === 0) {
        const archive = await call('GET', `/tenants/${memory.tenant}/export?history=true`);
        const copy = new Memory(service(), random, freshTenant('random'), memory);
        await call('POST', '/tenants', { id: copy.tenant });
        await call('POST', `/tenants/${copy.tenant}/import`, archive.rawPayload);
        memories.push(copy);
      }
    }
    const control = freshTenant('control');
    for (const content of ['one\n', `${HEAD}\n${TAIL}`])
      await service().execute(cmd.create(`/memories/${content.length}.md`, content), {
        tenant: control,
        headers: { 'idempotency-key': content.slice(0, 3) },
      });
    const [controlRows, clean] = [await tenantRows(control), await cleanVersions()];
    expect((await foundInTables(service(), encodeVariants(TEXT))).join()).toMatch(
      /entries\.content.*entries\.path.*idempotency_keys\.content.*versions\.content/s,
    );

    const kind = eraseJobs(database, config);
    const runner = new JobRunner(database, [kind], (job, error) => {
      throw new Error(`${job.kind} failed`, { cause: error });
    });
    const erase = async (dryRun: boolean) => {
      const { id } = (await call('POST', '/erase', { text: TEXT, dry_run: dryRun })).json();
      await runner.run();
      return (await call('GET', `/jobs/${id}`)).json();
    };
    lines.length = 0;
    const tried = await erase(true);
    const erased = await erase(false);
    const { hits: _, searched: __, ...places } = tried.counts;
    expect(erased).toMatchObject({ state: 'done', is_exact: true, tenants_failed: 0, counts: places });
    const again = await erase(true);
    expect(
      Object.entries(again.counts).filter(([name, count]) => name !== 'searched' && count !== 0),
    ).toStrictEqual([]);
    await runner.stop();

    const encodings = encodeVariants(TEXT);
    expect(encodings.size).toBeGreaterThanOrEqual(16);
    expect(await foundInTables(service(), encodings)).toStrictEqual([]);
    for (const { tenant } of memories) {
      const { rawPayload } = await call('GET', `/tenants/${tenant}/export?history=true`);
      expect(findEncodings(rawPayload, encodings)).toStrictEqual([]);
    }
    const metrics = await service().app.inject('/metrics');
    expect(lines.length).toBeGreaterThan(3);
    expect(findEncodings(Buffer.from(lines.join('') + metrics.body), encodings)).toStrictEqual([]);

    for (const memory of [...memories, ...drafts]) {
      const tree = await readTree(service(), memory.tenant);
      const files = [...tree].filter(([, content]) => content !== null);
      expect(Object.fromEntries(files), memory.tenant).toStrictEqual(memory.expectedFiles());
    }
    expect(await tenantRows(control)).toStrictEqual(controlRows);
    const after = await cleanVersions();
    for (const [version, text] of clean) expect(after.get(version), version).toBe(text);
    await assertInvariants(service());
    await app.close();
  });
});
