/**
 * `npm run bench -- citus`: compares plain Postgres with a Citus cluster on this machine for view, create, edit, and a
 * mix. Prints requests per second and each variant's ratio to plain Postgres, as medians over alternating rounds.
 *
 * The nodes share this machine's processors with the service. A ratio is therefore a request's cost, and does not show
 * how a cluster scales. Environment: ROUNDS (3), SECONDS (3), CONNECTIONS (16), and TENANTS (48).
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FaultyCluster, NoCluster } from '../test/support/faults/faulty-cluster.ts';
import { post } from '../test/support/faults/post.ts';
import { Replica } from '../test/support/faults/replica.ts';
import { cmd } from '../test/support/step-table.ts';
import { median } from './support/statistics.ts';

const option = (name: string, defaultValue: number) => Number(process.env[name] ?? defaultValue);
const ROUNDS = option('ROUNDS', 3);
const SECONDS = option('SECONDS', 3);
const CONNECTIONS = option('CONNECTIONS', 16);
const TENANTS = Array.from({ length: option('TENANTS', 48) }, (_, i) => `tenant-${i}`);

const FILE = '/memories/notes.md';
const TEXT = 'The quick brown fox jumps over the lazy dog.\n'.repeat(23);

const view = () => cmd.view(FILE);
const create = () => cmd.create(`/memories/d/${randomUUID()}.md`, TEXT);
/** Each client edits a separate file per workload, so that the content is known. */
const edit = (file: string, turn: number) =>
  turn % 2 === 0 ? cmd.replace(file, 'state a', 'state b') : cmd.replace(file, 'state b', 'state a');
const editedFile = (client: number) => `/memories/${client}.md`;
const mixedFile = (client: number) => `/memories/${client}-mixed.md`;

const workloads: Record<string, (client: number, turn: number) => object> = {
  view,
  create,
  edit: (client, turn) => edit(editedFile(client), turn),
  'mix: 60 % view, 25 % edit, 15 % create': (client, turn) => {
    const kind = turn % 20;
    if (kind < 12) return view();
    return kind < 17 ? edit(mixedFile(client), Math.floor(turn / 20) * 5 + kind - 12) : create();
  },
};

interface Variant {
  name: string;
  replicas: Replica[];
}

async function startVariant(name: string, urls: string[]): Promise<Variant> {
  const limits = { MAX_TENANT_FILES: '0', MAX_TENANT_BYTES: '0' };
  const replicas: Replica[] = [];
  for (const url of urls) {
    const replica = await Replica.create({ DATABASE_URL: url, ...limits });
    await replica.start();
    replicas.push(replica);
  }
  return { name, replicas };
}

/** A client with its own tenant. Its call counters continue from round to round. */
interface Client {
  tenant: string;
  url: string;
  turns: Map<string, number>;
}

async function send({ tenant, url }: Client, agent: Agent, input: object): Promise<void> {
  const response = await post(url, agent, tenant, JSON.stringify(input), 60_000);
  if (response.status !== 200 || response.isError) throw new Error(`${response.status} ${response.content}`);
}

async function prepare(client: Client, agent: Agent, number: number): Promise<void> {
  await send(client, agent, cmd.create(FILE, TEXT));
  for (const file of [editedFile(number), mixedFile(number)])
    await send(client, agent, cmd.create(file, `${TEXT}state a\n`));
}

/** @returns requests per second */
async function measure(clients: Client[], agent: Agent, workload: string): Promise<number> {
  const make = workloads[workload];
  if (make === undefined) throw new Error(workload);
  const started = performance.now();
  let requests = 0;
  const loop = async (client: Client, number: number) => {
    while (performance.now() - started < SECONDS * 1000) {
      const turn = client.turns.get(workload) ?? 0;
      client.turns.set(workload, turn + 1);
      await send(client, agent, make(number, turn));
      requests++;
    }
  };
  await Promise.all(clients.map(loop));
  return (requests * 1000) / (performance.now() - started);
}

const scratch = await mkdtemp(join(tmpdir(), 'memory-service-bench-'));
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const cluster = await FaultyCluster.start({ CITUS_SHARDS: '32' }).catch((error) => {
  if (!(error instanceof NoCluster)) throw error;
  console.error(error.message);
  process.exit(1);
});
try {
  const url = await cluster.createDatabase('bench');
  const plain = await cluster.createPlainDatabase('plain');
  const variants = [
    await startVariant('plain Postgres', [plain]),
    await startVariant('Citus, through the coordinator', [url]),
  ];
  variants.push(await startVariant('Citus, a replica at each node', [url, ...(await cluster.workers(url))]));
  const rates = new Map<string, number[]>();
  const clientsByVariant = new Map<Variant, Client[]>();
  for (const variant of variants) {
    const clients = Array.from({ length: CONNECTIONS }, (_, i) => ({
      tenant: `${TENANTS[i % TENANTS.length]}-${variants.indexOf(variant)}`,
      url: variant.replicas[i % variant.replicas.length]?.url ?? '',
      turns: new Map<string, number>(),
    }));
    for (const [i, client] of clients.entries()) await prepare(client, agent, i);
    clientsByVariant.set(variant, clients);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const workload of Object.keys(workloads)) {
      for (const variant of variants) {
        const rate = await measure(clientsByVariant.get(variant) ?? [], agent, workload);
        const key = `${workload}\t${variant.name}`;
        rates.set(key, [...(rates.get(key) ?? []), rate]);
      }
    }
  }
  console.log('| Workload | Variant | Requests/s | Ratio to plain Postgres |\n| --- | --- | ---: | ---: |');
  for (const [key, values] of rates) {
    const [workload = '', name] = key.split('\t');
    const base = rates.get(`${workload}\tplain Postgres`) ?? [];
    const ratios = values.map((value, i) => value / (base[i] ?? value));
    console.log(`| ${workload} | ${name} | ${Math.round(median(values))} | ${median(ratios).toFixed(2)} |`);
  }
  await Promise.all(variants.flatMap(({ replicas }) => replicas.map((replica) => replica.end())));
} finally {
  agent.destroy();
  await cluster.remove();
  await rm(scratch, { recursive: true, force: true });
}
process.exit();
