/**
 * `node scripts/check-release.ts v1.2.3`: everything that a release publishes has the version of the tag, the
 * changelog has an entry for it, no document says that there is no release, and every image of others is pinned by
 * its digest.
 */
import { imageReferences, isPinned } from './images.ts';
import { notesOfMissingRelease, releaseVersions } from './release-versions.ts';

const version = process.argv[2]?.replace(/^v/, '');
const problems = Object.entries(releaseVersions())
  .filter(([, has]) => has !== version)
  .map(
    ([place, has]) => `${place} has version ${has ?? 'none'}, and the release is ${version ?? 'not named'}`,
  );
for (const note of notesOfMissingRelease()) problems.push(`${note}: remove the note for the release`);
for (const { file, reference } of imageReferences()) {
  if (!isPinned(reference))
    problems.push(`${file}: ${reference} is not pinned by its digest: run node scripts/pin-images.ts`);
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
