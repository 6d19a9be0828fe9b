/** `node scripts/check-release.ts v1.2.3`: every package has the version of the tag, and the changelog an entry for it. */
import { readFileSync } from 'node:fs';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const versionOf = (path: string, pattern: RegExp) => pattern.exec(read(path))?.[1];

const version = process.argv[2]?.replace(/^v/, '');
const found = {
  'package.json': JSON.parse(read('package.json')).version,
  'clients/typescript/package.json': JSON.parse(read('clients/typescript/package.json')).version,
  'clients/mcp/package.json': JSON.parse(read('clients/mcp/package.json')).version,
  'clients/python/src/memory_service_client/_version.py': versionOf(
    'clients/python/src/memory_service_client/_version.py',
    /__version__ = "(.*)"/,
  ),
  'CHANGELOG.md': versionOf('CHANGELOG.md', /^## \[(\d[^\]]*)\]/m),
};
for (const [path, has] of Object.entries(found)) {
  if (has === version) continue;
  console.error(`${path} has version ${has ?? 'none'}, and the release is ${version ?? 'not named'}`);
  process.exitCode = 1;
}
