/**
 * `npx tsx test/faults/fairness.ts`, after `npm run build`: what one tenant's latency becomes while another one sends expensive
 * requests. It measures, and so it is not a test. SECONDS (5) for each load. FAULTS_CLI: another build to measure.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installBinaries, PostgresServer } from '../support/faults/postgres.ts';
import { Replica } from '../support/faults/replica.ts';
import { cmd } from '../support/table.ts';

const SECONDS = Number(process.env.SECONDS ?? 5);
const CLIENTS = 32;
const FILES = 9900;

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

function post(url: string, tenant: string, input: object): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      `${url}/execute`,
      { agent, method: 'POST', headers: { 'content-type': 'application/json', 'x-tenant-id': tenant } },
      (answer) => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)),
    );
    sent.on('error', () => resolve(0));
    sent.end(JSON.stringify(input));
  });
}

async function measure(title: string, url: string, input: object | undefined): Promise<void> {
  const end = performance.now() + SECONDS * 1000;
  const isOver = () => performance.now() > end;
  let expensive = 0;
  let refused = 0;
  const clients = Array.from({ length: input ? CLIENTS : 0 }, async () => {
    while (input && !isOver()) {
      if ((await post(url, 'busy', input)) === 200) expensive++;
      else refused++;
    }
  });
  const times: number[] = [];
  while (!isOver()) {
    const sent = performance.now();
    await post(url, 'quiet', cmd.view('/memories/f'));
    times.push(performance.now() - sent);
  }
  await Promise.all(clients);
  times.sort((a, b) => a - b);
  const quantile = (q: number) => times[Math.floor(times.length * q)]?.toFixed(1);
  console.log(
    `| ${title} | ${quantile(0.5)} ms | ${quantile(0.99)} ms | ${Math.round(expensive / SECONDS)} | ${refused} |`,
  );
}

const scratch = await mkdtemp(join(tmpdir(), 'memory-service-fairness-'));
const postgres = await PostgresServer.create({
  binaries: await installBinaries(scratch),
  folder: join(scratch, 'postgres'),
});
try {
  const replica = await Replica.create({ DATABASE_URL: postgres.url() });
  await replica.start();
  const { url } = replica;
  await post(url, 'quiet', cmd.create('/memories/f', 'x'.repeat(1000)));
  const line = 'all work and no play makes a dull file\n';
  await post(url, 'busy', cmd.create('/memories/big', line.repeat(26_886).slice(0, 1024 * 1024)));
  let made = 0;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (made < FILES) await post(url, 'busy', cmd.create(`/memories/d/${made++}`, 'x'));
    }),
  );
  console.log('| load of the other tenant | p50 | p99 | its answers a second | its refusals |');
  console.log('| --- | ---: | ---: | ---: | ---: |');
  await measure('(warm-up)', url, cmd.view('/memories/big'));
  await measure('none', url, undefined);
  await measure(`${CLIENTS} clients list ${FILES} files`, url, cmd.view('/memories/d'));
  await measure(`${CLIENTS} clients view 1 MiB`, url, cmd.view('/memories/big'));
  await replica.end();
} finally {
  agent.destroy();
  await postgres.stop('immediate');
  await rm(scratch, { recursive: true, force: true });
}
