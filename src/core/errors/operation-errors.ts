import { describeSecrets } from '../lib/secret-kinds.ts';
import { amount, quotaAmount } from '../lib/units.ts';
import { reasonFor } from './definition.ts';

const invalid = reasonFor('invalid_parameter');
const notFound = reasonFor('not_found');
const rejected = reasonFor('rejected');
const incomplete = reasonFor('history_incomplete');
const overQuota = reasonFor('over_quota');
const precondition = reasonFor('precondition_failed');

/** Errors about invalid parameters that a schema cannot describe. */
export const PARAMETER_ERRORS = {
  /** `what` names the parameter and the problem: `The field limit must be at most 200.` */
  invalid_parameter: invalid((what: string) => what),
  invalid_cursor: invalid(
    () =>
      'The query parameter `after` is not valid: use the `next` of the previous page, with the same other parameters.',
  ),
  invalid_change_cursor: invalid(
    () =>
      'The query parameter `after` is not valid: use the `cursor` of an event or of a page of events, or `now`.',
  ),
  both_preconditions: invalid(() => 'Send If-Match or If-None-Match, not both.'),
  invalid_if_none_match: invalid(() => 'The header If-None-Match must be * here.'),
  invalid_search: invalid((why: string) => why),
  invalid_new_tenant_id: invalid(
    (tenant: string, rule: string) => `The id of the new tenant is ${tenant}, and must be ${rule}.`,
  ),
};

/** Jobs with a common maximum. */
const JOB_SHARES = { admin: 'of this admin ', scoped: 'of admins limited to certain tenants ', all: '' };

/** Jobs that only one process may run at a time. */
const JOBS = { expiration: 'deleting expired files', history: 'pruning the history' };

export const OPERATION_ERRORS = {
  // Tenants and keys

  too_much_metadata: invalid((max: number) => `The metadata must have at most ${max} pairs.`),
  no_such_tenant: notFound((tenant: string) => `Tenant ${tenant} does not exist.`),
  tenant_is_mounted: rejected((tenant: string, by: readonly string[], more: boolean) => {
    const which = by.length === 0 ? 'other tenants' : `${by.join(', ')}${more ? ' and others' : ''}`;
    return `Tenant ${tenant} is mounted by ${which}. Without it, these mounts would be unavailable.`;
  }),
  mounts_itself: rejected((tenant: string) => `Tenant ${tenant} cannot mount itself.`),
  too_many_mounts: rejected(
    (tenant: string, max: number) => `Tenant ${tenant} already has ${max} mounts, the maximum.`,
  ),
  mount_name_taken: rejected(
    (tenant: string, path: string) =>
      `Tenant ${tenant} already has ${path}. Rename or delete it, or choose another name for the mount.`,
  ),
  log_position_expired: {
    code: 'changes_expired' as const,
    description: 'Changes after the position are no longer in the history.',
    problem: () => ({
      status: 410,
      message:
        "The position is older than the log of all tenants' changes (CHANGE_LOG_DAYS), or from another database. Begin again with `after=now`, then read all files once.",
    }),
  },
  change_log_off: rejected(
    () =>
      "The log of all tenants' changes is off (CHANGE_LOG_DAYS=0), or was turned on seconds ago. Read each tenant's changes, or turn it on and try again.",
  ),
  log_begins_later: incomplete(
    (since: string) =>
      `The log of all tenants' changes is complete only since ${since}. Choose a later time.`,
  ),
  no_such_invitation: notFound(
    (id: string) => `Invitation ${id} does not exist: it was used, revoked, or has expired.`,
  ),
  invalid_invitation: notFound(
    () => 'The invitation is unknown, used, revoked, or expired. Ask its sender for a new one.',
  ),
  too_many_invalid_tokens: {
    code: 'too_many_failed_attempts' as const,
    description: 'The tenant has sent too many invalid invitations.',
    problem: (retryAfter: number) => ({
      status: 429,
      message: 'Too many invalid invitations from this tenant.',
      retryAfter,
    }),
  },
  no_such_share: notFound((id: string) => `Share ${id} does not exist, or has ended.`),
  too_many_invitations: rejected(
    (tenant: string, max: number) =>
      `Tenant ${tenant} already has ${max} invitations, the maximum. Revoke one.`,
  ),
  too_many_shares: rejected(
    (tenant: string, max: number) =>
      `Tenant ${tenant} is already shared ${max} times, the maximum. End one share.`,
  ),
  no_such_webhook: notFound((id: string) => `Webhook ${id} does not exist.`),
  too_many_webhooks: rejected(
    (max: number) => `There are already ${max} such webhooks, the maximum. Delete one first.`,
  ),
  webhook_needs_https: invalid(
    () =>
      'The field url must begin with https://, unless WEBHOOK_ALLOWED_ADDRESSES permits private addresses.',
  ),
  no_such_mount: notFound((tenant: string, name: string) => `Tenant ${tenant} has no mount ${name}.`),
  unknown_key: notFound((id: string) => `Key ${id} does not exist.`),
  no_such_key: notFound((id: string) => `Key ${id} does not exist or is already revoked.`),
  creation_key_reused: {
    code: 'idempotency_key_reused' as const,
    description: 'The idempotency key was used for another request.',
    problem: () => ({
      status: 422,
      message: 'The Idempotency-Key was used for another request. Use a new one for each key.',
    }),
  },
  key_expired: rejected((id: string) => `Key ${id} has expired. Change its expiry first.`),
  key_in_use: rejected(
    (id: string) => `Key ${id} was created by this request and has been used, rotated or revoked since.`,
  ),
  quota_exceeded: overQuota(
    (
      tenant: string,
      what: 'change' | 'import' | 'merge' | 'restore' | 'revert',
      {
        of,
        used,
        limit,
        needed,
      }: { of: 'files' | 'directories' | 'bytes'; used: number; limit: number; needed: number },
    ) => `Tenant ${tenant} uses ${used} of ${quotaAmount(limit, of)}, and the ${what} needs ${needed} more.`,
  ),

  // Texts that are kept out

  kept_out_too_short: invalid(
    (minBytes: number) =>
      `The text has less than ${minBytes} bytes of letters and digits. It would occur in too many other texts.`,
  ),
  kept_out_too_long: invalid(
    (maxTokens: number) =>
      `The text has more than ${maxTokens} words and punctuation marks. Choose its most distinctive part.`,
  ),
  too_many_kept_out: rejected(
    (max: number) => `There are already ${max} texts that are kept out, the maximum. Remove one first.`,
  ),
  no_such_kept_out: notFound((id: string) => `The entry ${id} does not exist in this list.`),

  // Receipts

  no_such_receipt: notFound((id: string) => `The receipt ${id} does not exist.`),

  // Jobs

  no_such_job: notFound(
    (id: string) => `Job ${id} does not exist. Jobs are deleted 30 days after their end.`,
  ),
  too_many_jobs: rejected(
    (whose: keyof typeof JOB_SHARES, max: number) =>
      `${max} jobs ${JOB_SHARES[whose]}have not ended, the maximum. Wait, or cancel a job.`,
    { retryAfter: 10 },
  ),
  job_not_ended: rejected(
    (id: string) =>
      `Job ${id} has not ended, so it has not found all tenants yet. Wait for its end, or cancel it and use its tenants so far.`,
    { retryAfter: 10 },
  ),
  not_a_dry_run: rejected(
    (id: string) => `Job ${id} is not a dry run of a revert that has ended. Start one first.`,
  ),
  no_such_outcome: notFound((id: string, tenant: string) => `Job ${id} has no outcome for tenant ${tenant}.`),
  job_is_running: rejected((job: keyof typeof JOBS) => `Another process is ${JOBS[job]}. Try again later.`),

  // Moving a whole database

  target_has_other_data: rejected(
    (what: string) => `The target already has ${what}, with different data. Nothing was changed.`,
  ),
  columns_differ: rejected(
    (table: string) => `The table ${table} does not have the same columns in both databases.`,
  ),
  copy_differs: rejected(
    (table: string, copied: number, rows: number) =>
      `The copy does not match the source: ${table} has ${copied} of ${amount(rows, 'row')}, or different values. It was not committed.`,
  ),
  rows_without_tenant: rejected(
    (table: string, rows: number) =>
      `Everything else was moved. Left out: ${amount(rows, 'row')} of ${table} without a tenant.`,
  ),

  // Files

  search_too_expensive: rejected(
    () => 'The search takes too long. Search a directory, or use a simpler query.',
  ),
  nothing_at: notFound((_tenant: string, path: string) => `${path} does not exist.`),
  nothing_at_time: notFound((_tenant: string, path: string, _at: string, redacted: number) =>
    redacted === 0
      ? `${path} did not exist at that time.`
      : `${path} did not exist at that time, unless it was ${redacted === 1 ? 'the file' : `one of the ${redacted} files`} that ${redacted === 1 ? 'has' : 'have'} been redacted since.`,
  ),
  nothing_at_either_time: notFound((path: string) => `${path} did not exist at either time.`),
  is_directory: rejected((_tenant: string, path: string) => `${path} is a directory.`),
  directory_not_recursive: rejected(
    (path: string) =>
      `${path} is a directory. Request a recursive deletion to delete it with everything below it.`,
  ),
  was_directory: rejected(
    (_tenant: string, path: string, _at: string) => `${path} was a directory at that time.`,
  ),
  not_a_directory: rejected((path: string) => `${path} is a file, so nothing can be below it.`),
  cannot_delete_root: rejected(() => 'The directory /memories itself cannot be deleted.'),
  cannot_move_root: rejected(() => 'The directory /memories itself cannot be moved.'),
  destination_exists: rejected((path: string) => `${path} already exists. Nothing was overwritten.`),
  move_inside_itself: rejected(
    (from: string, to: string) => `Cannot move ${from} to ${to}, which is inside it.`,
  ),
  path_too_long: rejected((path: string) => `The path would be too long or too deep: ${path}`),
  path_exists: precondition((_tenant: string, path: string) => `${path} already exists.`),
  no_file_to_replace: precondition(
    (path: string) => `File ${path} does not exist. To create it, send If-None-Match: *.`,
  ),
  changed_since_read: precondition((path: string) => `${path} has changed since it was read. Read it again.`),
  file_too_large: rejected(
    (path: string, maxBytes: number) =>
      `${path} would exceed the maximum file size of ${amount(maxBytes, 'byte')}.`,
  ),
  content_has_nul: rejected(
    (path: string) => `The content of ${path} contains a NUL character, which cannot be stored.`,
  ),
  secrets_in_content: rejected(
    (kinds: readonly string[]) => `The content contains ${describeSecrets(kinds)}. Remove it and try again.`,
  ),
  secret_in_path: rejected(
    (kinds: readonly string[]) => `The path contains ${describeSecrets(kinds)}. Choose another path.`,
  ),

  // History

  invalid_time: invalid(
    (text: string) =>
      `${JSON.stringify(text)} is not a valid time. Use an ISO 8601 time (2026-11-22, 2026-11-22T09:30:00Z, 2026-11-22T09:30:00.123456+01:00; UTC if it has no offset) or a duration before now (30s, 90m, 2h, 3d, 1w).`,
  ),
  since_after_until: invalid(() => '`since` must be before `until`.'),
  history_incomplete: incomplete(
    (tenant: string, since: string) =>
      `The history of ${tenant} is complete only since ${since}. Choose a later time.`,
  ),
  no_such_version: notFound((tenant: string, id: string) => `Version ${id} of ${tenant} does not exist.`),
  ambiguous_version: rejected(
    (tenant: string, start: string, ids: readonly string[], hasMore: boolean) =>
      `Several versions of ${tenant} have an ID that starts with ${start}:${ids.map((id) => `\n  ${id}`).join('')}${hasMore ? '\n  …' : ''}`,
  ),
  stale_plan: precondition(
    () =>
      'The memory has changed since the dry run, so the changes would differ. Nothing was changed. Do another dry run.',
  ),
  revert_file_unknown: notFound(
    (id: string) => `The revert does not affect the file ${id}. Use the \`memory_id\` of a dry run.`,
  ),
  revert_text_for_deletion: rejected(
    (path: string) =>
      `${path} exists neither now nor in the reverted state, so it cannot get a text. Resolve it with \`current\`.`,
  ),
  nothing_to_restore: notFound((path: string) => `${path} does not exist, now or at that time.`),
  /** `version` is the restored version, or null if the operation restores a time. */
  cannot_restore: rejected(
    (_tenant: string, _version: string | null, path: string, blockedBy: string) =>
      `Cannot restore ${path}: ${blockedBy} is occupied.`,
  ),
  version_is_deletion: rejected(
    (id: string) => `Version ${id} records a deletion, so it has no content. Restore an earlier version.`,
  ),
  version_redacted: rejected(
    (id: string) =>
      `This requires version ${id}, which has been redacted. Restore to another time, or choose a path that does not need it.`,
  ),
  version_is_live: rejected((id: string, head: string | null) =>
    head === id
      ? `Version ${id} is live. Edit or delete the file first, then redact this version.`
      : `Version ${id} has the same content as a live file (version ${head}). Edit or delete that file first, then redact this version.`,
  ),
  directory_exists: rejected(
    (path: string) => `${path} still exists. Delete or rename it first, then redact its name.`,
  ),
  directory_has_versions: rejected(
    (path: string, version: string | null) =>
      `Version ${version} was at ${path} or below it. Redact the versions of the files there first.`,
  ),
  no_such_directory: notFound(
    (tenant: string, path: string) => `Tenant ${tenant} never had a directory ${path}.`,
  ),
};
