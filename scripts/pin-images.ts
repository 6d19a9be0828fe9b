/**
 * `node scripts/pin-images.ts`: asks the registries which image each tag names now, with `docker buildx imagetools
 * inspect`, and writes the digests behind the tags. With `--check`, changes nothing, and exits with 1 when a digest
 * is missing or its tag names another image.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { imageReferences, root } from './images.ts';

const isCheck = process.argv.includes('--check');
const digests = new Map<string, string>();

/** The digest of the index of all platforms that a tag names. */
function digestOf(tag: string): string {
  const args = ['buildx', 'imagetools', 'inspect', tag, '--format', '{{.Manifest.Digest}}'];
  const { status, stdout } = spawnSync('docker', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const digest = stdout?.trim() ?? '';
  if (status === 0 && /^sha256:[0-9a-f]{64}$/.test(digest)) return digest;
  console.error(
    `docker buildx imagetools inspect ${tag} names no digest: it needs Docker with buildx, and the registry.`,
  );
  process.exit(1);
}

for (const { file, reference } of imageReferences()) {
  const [tag = ''] = reference.split('@');
  let digest = digests.get(tag);
  if (digest === undefined) {
    digest = digestOf(tag);
    digests.set(tag, digest);
  }
  const pinned = `${tag}@${digest}`;
  if (pinned === reference) continue;
  if (isCheck) {
    process.exitCode = 1;
    console.error(`${file}: ${reference} is now ${pinned}. Run node scripts/pin-images.ts.`);
    continue;
  }
  const path = `${root}${file}`;
  // A tag that begins another tag stays as it is.
  const places = new RegExp(`${reference.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w.@-])`, 'g');
  writeFileSync(path, readFileSync(path, 'utf8').replace(places, pinned));
  console.log(`${file}: ${pinned}`);
}
