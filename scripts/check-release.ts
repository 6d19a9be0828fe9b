/**
 * `node scripts/check-release.ts v1.2.3`: checks a release before it is published. All published artifacts must have
 * the tag's version, and the changelog must have an entry for it. No document may state that there is no release. All
 * third-party images must be pinned by digest.
 */
import { imageReferences, isPinned } from './images.ts';
import { missingReleaseNotes, releaseVersions } from './release-versions.ts';

const version = process.argv[2]?.replace(/^v/, '');
const problems = Object.entries(releaseVersions())
  .filter(([, has]) => has !== version)
  .map(
    ([place, has]) => `${place} has version ${has ?? 'none'}, and the release is ${version ?? 'not named'}`,
  );
for (const note of missingReleaseNotes()) problems.push(`${note}: remove the note for the release`);
for (const { file, reference } of imageReferences()) {
  if (!isPinned(reference))
    problems.push(`${file}: ${reference} is not pinned by its digest: run node scripts/pin-images.ts`);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
