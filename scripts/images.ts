/**
 * Finds all third-party container images in the repository: in Dockerfile, Compose files, workflows, scripts, and
 * tests.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const IN = (directory: string, pattern: RegExp) =>
  readdirSync(`${root}${directory}`)
    .filter((name) => pattern.test(name))
    .map((name) => `${directory}${name}`);

const FILES = [
  ...IN('', /^Dockerfile/),
  'docker-compose.yml',
  ...IN('examples/compose/', /\.yml$/),
  ...IN('.github/workflows/', /\.yml$/),
  'scripts/citus-cluster',
  'test/support/postgres/docker.ts',
];

const REFERENCE = String.raw`['"]?([a-z0-9][\w./-]*(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?)`;
/**
 * Patterns for `FROM image`, `image: image` in YAML, `ARG NODE_IMAGE=image`, `${POSTGRES_IMAGE:-image}`, and the
 * default in TypeScript.
 */
const PLACES = [
  String.raw`^FROM (?:--platform=\S+ )?${REFERENCE}`,
  String.raw`^\s*(?:- )?image: ${REFERENCE}`,
  String.raw`(?:^ARG \w+_IMAGE=|_IMAGE:-)${REFERENCE}`,
  String.raw`_IMAGE \|\|\s+${REFERENCE}`,
].map((pattern) => new RegExp(pattern, 'gm'));

/** Images that are built from this repository. */
const OWN = /(^|\/)memory-service(:|@|$)/;

export interface ImageReference {
  file: string;
  /** `postgres:18`, or pinned: `postgres:18@sha256:…`. */
  reference: string;
}

export function findImages(text: string): string[] {
  const found = PLACES.flatMap((place) => [...text.matchAll(place)].map(([, reference = '']) => reference));
  return [...new Set(found)].filter((reference) => !OWN.test(reference));
}

export function imageReferences(): ImageReference[] {
  return FILES.flatMap((file) =>
    findImages(readFileSync(`${root}${file}`, 'utf8')).map((reference) => ({ file, reference })),
  );
}

export function isPinned(reference: string): boolean {
  return /:[^@]+@sha256:[0-9a-f]{64}$/.test(reference);
}
