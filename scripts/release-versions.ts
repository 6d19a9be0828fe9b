/** Lists all places that contain a release's version. All artifacts are released together, with one version. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8');
const find = (path: string, pattern: RegExp) => pattern.exec(read(path))?.[1];

const CHART = 'charts/memory-service/Chart.yaml';
/** Documents that contain an archive's or image's version. */
const DOCUMENTS = [
  'README.md',
  'clients/typescript/README.md',
  'clients/mcp/README.md',
  'clients/python/README.md',
];

/** Returns the version in each place, or undefined for a place without a version. */
export function releaseVersions(): Record<string, string | undefined> {
  const lock = JSON.parse(read('package-lock.json')).packages;
  const versions: Record<string, string | undefined> = {
    'openapi.yaml': find('openapi.yaml', /^ {2}version: (.*)$/m),
    'admin-openapi.yaml': find('admin-openapi.yaml', /^ {2}version: (.*)$/m),
    'clients/python/src/memory_service_client/_version.py': find(
      'clients/python/src/memory_service_client/_version.py',
      /__version__ = "(.*)"/,
    ),
    'examples/kubernetes/memory-service.yaml': find(
      'examples/kubernetes/memory-service.yaml',
      /image: .*memory-service:(.*)$/m,
    ),
    'CHANGELOG.md': find('CHANGELOG.md', /^## \[(\d[^\]]*)\]/m),
  };
  for (const directory of ['', 'clients/typescript/', 'clients/mcp/', 'console/']) {
    versions[`${directory}package.json`] = JSON.parse(read(`${directory}package.json`)).version;
    versions[`package-lock.json, ${directory || './'}`] = lock[directory.replace(/\/$/, '')].version;
  }
  if (existsSync(`${root}${CHART}`)) {
    versions[`${CHART}, version`] = find(CHART, /^version: "?([^"\s]*)/m);
    versions[`${CHART}, appVersion`] = find(CHART, /^appVersion: "?([^"\s]*)/m);
  }
  for (const document of DOCUMENTS) {
    const named = [...read(document).matchAll(/memory[-_]service[a-z_-]*[-:](\d+\.\d+\.\d+)/g)];
    for (const [text, version] of named) versions[`${document}, ${text}`] = version;
  }
  return versions;
}

/** Documents that explain how to install the service without a release. */
const DOCUMENTS_OF_CLONES = [
  ...DOCUMENTS,
  'site/index.md',
  'docs/tutorial.md',
  'docs/bad-day.md',
  'docs/kubernetes.md',
  'examples/kubernetes/README.md',
];

/** Returns the documents' lines that explain the installation without a release. */
export function missingReleaseNotes(): string[] {
  return DOCUMENTS_OF_CLONES.flatMap((document) =>
    read(document)
      .split('\n')
      .filter((line) => /not published yet|until it is published/i.test(line))
      .map((line) => `${document}: ${line}`),
  );
}
