import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findImages, imageReferences, isPinned } from '../../scripts/images.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('the Node.js versions', () => {
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  const recommended = read('.nvmrc').trim();
  const { jobs } = parse(read('.github/workflows/ci.yml')) as {
    jobs: { test: { strategy: { matrix: { node: string[] } } } };
  };
  const tested = jobs.test.strategy.matrix.node;

  it("runs CI with the lowest Node.js version in engines and with the image's Node.js version", () => {
    expect(engines.node).toBe(`>=${tested[0]}`);
    expect(tested).toContain(recommended);
    const images = [...read('Dockerfile').matchAll(/^ARG NODE_IMAGE=node:(\d+)/gm)].map(([, major]) => major);
    expect(new Set(images)).toStrictEqual(new Set([recommended]));
  });

  it('names the lowest Node.js version in the README', () => {
    expect(read('README.md')).toContain(`Node ${tested[0]} or newer`);
  });
});

describe('images from other projects', () => {
  it('pins images by digest in Dockerfile, Compose files, workflows, and tests', () => {
    // No registry was reachable when these images were added. scripts/check-release.ts rejects a release with them.
    const withoutDigest = ['citusdata/citus:13.2.0', 'citusdata/citus:14.2.0'];
    const references = imageReferences().filter(({ reference }) => !withoutDigest.includes(reference));
    expect(references.map(({ file }) => file)).toEqual(
      expect.arrayContaining([
        'Dockerfile',
        'docker-compose.yml',
        'examples/compose/observability.yml',
        'test/support/postgres/docker.ts',
      ]),
    );
    expect(references.filter(({ reference }) => !isPinned(reference))).toStrictEqual([]);
  });

  it("finds images without a tag or a digest, and images that are a variable's default", () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const text = `FROM debian
FROM \${NODE_IMAGE} AS build
ARG NODE_IMAGE=node:24@${digest}
    image: \${POSTGRES_IMAGE:-postgres:18}
    image: memory-service
      - image: ghcr.io/example/tool:1
  process.env.POSTGRES_IMAGE ||
  'postgres:17';`;
    const found = findImages(text);
    expect(found.sort()).toStrictEqual([
      'debian',
      'ghcr.io/example/tool:1',
      `node:24@${digest}`,
      'postgres:17',
      'postgres:18',
    ]);
    expect(found.filter(isPinned)).toStrictEqual([`node:24@${digest}`]);
  });
});

it('keeps the embedded database as the only optional package, and omits it from the image', () => {
  const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: object };
  expect(Object.keys(optionalDependencies)).toStrictEqual(['@electric-sql/pglite']);
  expect(read('Dockerfile')).toContain('RUN npm ci --omit=dev --omit=optional ');
});

it('examples/compose/observability.yml mounts existing files', () => {
  const { services } = parse(read('examples/compose/observability.yml')) as {
    services: Record<string, { volumes?: string[] }>;
  };
  const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.map((volume) => volume.split(':')[0] ?? ''),
  );
  expect(mounted.length).toBeGreaterThan(4);
  expect(mounted.filter((path) => read(path) === '')).toStrictEqual([]);
});
