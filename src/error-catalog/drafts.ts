import { reasonFor } from './definition.ts';

const notFound = reasonFor('not_found');
const refused = reasonFor('refused');
const overQuota = reasonFor('over_quota');
const precondition = reasonFor('precondition_failed');

/** Up to five paths, and how many more there are. */
function some(paths: readonly string[]): string {
  const more = paths.length - 5;
  return `${paths.slice(0, 5).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

/** Why something cannot be done with a draft. */
export const DRAFT_ERRORS = {
  no_such_draft: notFound((tenant: string, id: string) => `Tenant ${tenant} has no draft ${id}.`),
  no_such_draft_file: notFound(
    (id: string, file: string) => `${file} has not changed, in the draft ${id} or since.`,
  ),
  draft_closed: refused((id: string, state: string) => `The draft ${id} is closed: it was ${state}.`),
  is_draft: refused(
    (tenant: string, id: string) => `${id} is a draft of tenant ${tenant}. Merge it or close it instead.`,
  ),
  draft_of_draft: refused((id: string) => `${id} is a draft itself, and a draft has no drafts.`),
  too_many_drafts: overQuota(
    (tenant: string, limit: number) =>
      `Tenant ${tenant} has ${limit} open drafts, which is its limit. Merge or close one first.`,
  ),
  drafts_too_large: overQuota(
    (tenant: string, used: number, limit: number, needed: number) =>
      `The open drafts of tenant ${tenant} use ${used} of ${limit} bytes, and this one needs ${needed} more. Merge or close one first.`,
  ),
  draft_not_reviewed: precondition((paths: readonly string[]) =>
    paths.length === 0
      ? 'The draft or the memory has changed since it was reviewed. Nothing was done. Review it again.'
      : `Changed since the review: ${some(paths)}. Nothing was done. Review it again.`,
  ),
  draft_conflicts: refused(
    (paths: readonly string[]) =>
      `${paths.length === 1 ? '1 conflict is' : `${paths.length} conflicts are`} not settled: ${some(paths)}. Nothing was done.`,
  ),
  draft_in_the_way: refused((path: string, other: string, elsewhere: string | null) =>
    elsewhere === null
      ? `${path} cannot be as in the draft: ${other} is in its way, and is settled otherwise. Nothing was done. Settle both by \`draft\`, or ${path} by \`original\`.`
      : `${path} cannot be as in the draft: ${other} is in its way, and cannot go to ${elsewhere}, where the draft has it, because that is taken, too. Nothing was done. Settle ${path} by \`original\`, or make room for it first.`,
  ),
  draft_text_in_the_way: refused(
    (path: string, other: string) =>
      `A text for ${path} does not make room for it: ${other} is in its way. Nothing was done. Settle ${path} by \`draft\` or \`original\`.`,
  ),
  draft_file_unknown: refused(
    (file: string) => `${file} is not a file that the draft changed, so there is nothing to settle.`,
  ),
  draft_text_for_deletion: refused(
    (path: string) => `${path} is in neither memory any more. Settle it by \`draft\` or \`original\`.`,
  ),
  own_draft: {
    description: 'The admin key changed files in the draft itself. Another one has to merge it.',
    problem: () => ({
      status: 403,
      message: 'This admin key changed files in the draft itself. Somebody else has to merge it.',
    }),
  },
};
