import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { VARIABLES } from '../../src/core/variables.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FILES = ['docker-compose.yml', 'examples/compose/citus.yml'] as const;
const FRAGMENTS = ['examples/compose/service.yml', 'examples/compose/observability.yml'];

type Port = string | { host_ip: string; published: string; target: number };
interface Service {
  environment: Record<string, string | null>;
  ports: Port[];
  extends?: { file: string; service: string };
}
type Read = (files: string[], env: Record<string, string>) => Service;

const scratch = mkdtempSync(join(tmpdir(), 'compose-'));
afterAll(() => rmSync(scratch, { recursive: true }));
mkdirSync(join(scratch, 'examples/compose'), { recursive: true });
for (const file of [...FILES, ...FRAGMENTS]) copyFileSync(join(root, file), join(scratch, file));

/** Interpolates `${NAME:-default}`, extends, and merges like Compose, as far as the files need it. */
const readAsCompose: Read = (files, env) => {
  const interpolate = (_: unknown, value: unknown) =>
    typeof value === 'string'
      ? value.replaceAll(/\$\{(\w+):-([^}]*)\}/g, (_match, name, byDefault) => env[name] || byDefault)
      : value;
  const read = (file: string) => {
    const text = readFileSync(join(scratch, file), 'utf8');
    const { services } = parse(text, interpolate, { merge: true }) as { services: Record<'memory', Service> };
    return services.memory;
  };
  const layers = files
    .map((file) => ({ file, service: read(file) }))
    .flatMap(({ file, service }) => [
      ...(service.extends ? [read(join(dirname(file), service.extends.file))] : []),
      service,
    ]);
  const environment = Object.assign({}, ...layers.map((each) => each.environment)) as Service['environment'];
  for (const [name, value] of Object.entries(environment)) environment[name] = value ?? env[name] ?? null;
  return { environment, ports: layers.flatMap(({ ports = [] }) => ports) };
};

/** `docker compose` or `docker-compose`. Undefined if neither is installed. */
const command = [['docker', 'compose'], ['docker-compose']].find(([name = '', ...args]) => {
  try {
    execFileSync(name, [...args, 'version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

const readWithCompose: Read = (files, env) => {
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(scratch, '.env'), lines.join(''));
  const [name = '', ...args] = [
    ...(command ?? []),
    '--env-file',
    '.env',
    ...files.flatMap((file) => ['-f', file]),
    'config',
  ];
  const { PATH = '', HOME = '' } = process.env;
  const output = execFileSync(name, args, { cwd: scratch, encoding: 'utf8', env: { PATH, HOME } });
  return (parse(output) as { services: Record<'memory', Service> }).services.memory;
};

function portText(port: Port): string {
  if (typeof port !== 'string') return `${port.host_ip}:${port.published}:${port.target}`;
  return port.replace(/\/tcp$/, '');
}

function describeFiles(read: Read): void {
  it.each(FILES)('%s passes settings from .env to the service', (file) => {
    const bootstrap = '{"keys":[{"tenant":"acme","key":"msk_x"}]}';
    const { environment, ports } = read([file], {
      SECRETS: 'mask',
      BOOTSTRAP: bootstrap,
      DATABASE_URL: 'postgres://me@db/own',
      POSTGRES_PASSWORD: 'pass',
      ADMIN_PORT: '9001',
      MEMORY_PORT: '9000',
      HOST: '127.0.0.1',
      PORT: '1',
    });
    expect(environment).toMatchObject({
      SECRETS: 'mask',
      BOOTSTRAP: bootstrap,
      DATABASE_URL: 'postgres://me@db/own',
      PGPASSWORD: 'pass',
      ADMIN_PORT: '9001',
      ADMIN_HOST: '0.0.0.0',
      MAX_FILE_BYTES: null,
    });
    expect(environment).not.toHaveProperty('HOST');
    expect(environment).not.toHaveProperty('PORT');
    expect(ports.map(portText)).toStrictEqual(['127.0.0.1:9000:8080', '127.0.0.1:9001:9001']);
  });

  it.each([
    ['docker-compose.yml', 'postgres://memory@postgres:5432/memory'],
    ['examples/compose/citus.yml', 'postgres://memory@coordinator:5432/memory'],
  ])('%s starts the service without an .env file', (file, url) => {
    const { environment, ports } = read([file], {});
    expect(environment).toMatchObject({
      DATABASE_URL: url,
      PGPASSWORD: 'memory',
      ADMIN_PORT: '',
      SECRETS: null,
    });
    expect(ports.map(portText)).toStrictEqual(['127.0.0.1:8080:8080', '127.0.0.1:0:8081']);
  });

  it("examples/compose/observability.yml adds the collector's address to the service", () => {
    const { environment } = read(['docker-compose.yml', 'examples/compose/observability.yml'], {
      SECRETS: 'mask',
    });
    expect(environment).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      SECRETS: 'mask',
      DATABASE_URL: 'postgres://memory@postgres:5432/memory',
    });
  });
}

describe('the Compose files as this test parses them', () => describeFiles(readAsCompose));

describe.skipIf(command === undefined)(
  'the Compose files as Docker Compose parses them',
  { tags: 'long' },
  () => describeFiles(readWithCompose),
);

it('examples/compose/service.yml passes every setting that the container can change', () => {
  const { environment } = readAsCompose(['examples/compose/service.yml'], {});
  // The image sets HOST, PORT sets the published port, and the image has no embedded database.
  const fixed = ['HOST', 'PORT', 'DATA_DIR', 'DATABASE_URL'];
  const expected = VARIABLES.filter((name) => !fixed.includes(name));
  expect(Object.keys(environment)).toStrictEqual(expect.arrayContaining(expected));
});
