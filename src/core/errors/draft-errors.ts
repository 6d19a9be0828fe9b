import { describeSecrets, removalAdvice } from '../lib/secret-kinds.ts';
import { amount } from '../lib/units.ts';
import { reasonFor } from './definition.ts';

const notFound = reasonFor('not_found');
const rejected = reasonFor('rejected');
const overQuota = reasonFor('over_quota');
const precondition = reasonFor('precondition_failed');

function somePaths(paths: readonly string[]): string {
  const more = paths.length - 5;
  return `${paths.slice(0, 5).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

export const DRAFT_ERRORS = {
  no_such_draft: notFound((tenant: string, id: string) => `Tenant ${tenant} has no draft ${id}.`),
  no_such_draft_file: notFound(
    (id: string, file: string) =>
      `File ${file} has changed neither in the draft ${id} nor in the memory since.`,
  ),
  no_such_comment: notFound((draft: string, id: string) => `The draft ${draft} has no comment ${id}.`),
  no_such_file_in_draft: notFound(
    (draft: string, id: string) => `The draft ${draft} has no file with the ID ${id}.`,
  ),
  too_many_comments: rejected(
    (draft: string, limit: number) =>
      `The draft ${draft} already has ${limit} comments, its maximum. Delete one first.`,
  ),
  draft_closed: rejected((id: string, state: string) => `The draft ${id} is closed: it was ${state}.`),
  is_draft: rejected(
    (tenant: string, id: string) => `${id} is a draft of tenant ${tenant}. Merge it or close it instead.`,
  ),
  draft_has_no_settings: rejected(
    (tenant: string, id: string) =>
      `${id} is a draft of tenant ${tenant} and follows the settings of that tenant. Change them there.`,
  ),
  propose_for_draft: rejected(
    (id: string, tenant: string) =>
      `${id} is a draft of tenant ${tenant}, and a propose-only key writes into a draft of its own. Create the key for tenant ${tenant}, or with another access.`,
  ),
  draft_of_draft: rejected((id: string) => `${id} is a draft itself, and a draft has no drafts.`),
  too_many_drafts: overQuota(
    (tenant: string, limit: number) =>
      `Tenant ${tenant} already has ${amount(limit, 'open draft')}, its maximum. Merge or close one first.`,
  ),
  drafts_too_large: overQuota(
    (tenant: string, used: number, limit: number, needed: number) =>
      `The open drafts of tenant ${tenant} use ${used} of ${amount(limit, 'byte')}, and this one needs ${needed} more. Merge or close one first.`,
  ),
  draft_not_reviewed: precondition((paths: readonly string[]) =>
    paths.length === 0
      ? 'The draft or the memory has changed since the review. Nothing was changed. Review it again.'
      : `Changed since the review: ${somePaths(paths)}. Nothing was changed. Review it again.`,
  ),
  draft_has_secrets: rejected(
    (paths: readonly string[], kinds: readonly string[]) =>
      `The draft would add ${describeSecrets(kinds)} to ${somePaths(paths)}. Nothing was changed. ${removalAdvice(kinds)} in the draft, or resolve each of these files with \`original\` or a text.`,
  ),
  draft_conflicts: rejected(
    (paths: readonly string[]) =>
      `${amount(paths.length, 'conflict')} ${paths.length === 1 ? 'is' : 'are'} not resolved: ${somePaths(paths)}. Nothing was changed.`,
  ),
  draft_blocked_by: rejected((path: string, other: string, elsewhere: string | null) =>
    elsewhere === null
      ? `Cannot take ${path} from the draft: it is blocked by ${other}, which is resolved differently. Nothing was changed. Resolve both with \`draft\`, or ${path} with \`original\`.`
      : `Cannot take ${path} from the draft: it is blocked by ${other}, which cannot move to ${elsewhere}, its path in the draft, which is occupied as well. Nothing was changed. Resolve ${path} with \`original\`, or make room for it first.`,
  ),
  draft_text_blocked_by: rejected(
    (path: string, other: string) =>
      `Cannot write the text to ${path}: it is blocked by ${other}. Nothing was changed. Resolve ${path} with \`draft\` or \`original\`.`,
  ),
  draft_file_unknown: rejected(
    (file: string) => `The draft did not change file ${file}, so there is nothing to resolve.`,
  ),
  draft_text_for_deletion: rejected(
    (path: string) => `${path} no longer exists in either memory. Resolve it with \`draft\` or \`original\`.`,
  ),
  own_draft: {
    description: 'The admin key changed files in the draft, so another one must merge it.',
    problem: () => ({
      status: 403,
      message: 'This admin key changed files in the draft, so another one must merge it.',
    }),
  },
};
