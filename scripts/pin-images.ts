/**
 * `node scripts/pin-images.ts`: resolves each image tag in its registry with `docker buildx imagetools inspect`, and
 * writes the digests after the tags. With `--check`, changes no file, and exits with 1 if a digest is missing or
 * outdated.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { imageReferences, root } from './images.ts';

const isCheck = process.argv.includes('--check');
const digests = new Map<string, string>();

/** Returns the digest for the multi-platform index behind a tag. */
function readDigest(tag: string): string {
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
    digest = readDigest(tag);
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
  // The look-ahead excludes longer tags that begin with this tag.
  const places = new RegExp(`${reference.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w.@-])`, 'g');
  writeFileSync(path, readFileSync(path, 'utf8').replace(places, pinned));
  console.log(`${file}: ${pinned}`);
}
