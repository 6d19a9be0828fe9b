/** `node scripts/check-release.ts v1.2.3`: everything that a release publishes has the version of the tag, and the changelog an entry for it. */
import { releaseVersions } from './release-versions.ts';

const version = process.argv[2]?.replace(/^v/, '');
for (const [place, has] of Object.entries(releaseVersions())) {
  if (has === version) continue;
  console.error(`${place} has version ${has ?? 'none'}, and the release is ${version ?? 'not named'}`);
  process.exitCode = 1;
}
