import { z } from 'zod';
import { defineOperation } from '../../../core/admin/admin-operation.ts';
import { text } from '../../../core/admin/fields.ts';
import { requireRight } from '../../../core/admin/permissions.ts';
import { addKeptOut, checkKeptOut, FOR_ALL } from '../../../core/tenants/kept-out-entries.ts';
import { containsText, soughtUnits } from '../compared-text.ts';
import { ERASE, MAX_TEXT, MIN_TEXT, type StoredEraseRequest } from '../erase-job.ts';
import {
  incident,
  jobNotEnded,
  jobSchema,
  noSuchJob,
  selectionBody,
  startJob,
  tooManyJobs,
  toTenantSelection,
} from './job-schemas.ts';
import { keepOutOfAll, keptOutErrors } from './kept-out-operations.ts';

const eraseBody = z
  .strictObject({
    text: text(MAX_TEXT)
      .refine((given) => given.trim().length >= MIN_TEXT, {
        error: `needs at least ${MIN_TEXT} characters besides white space, because a shorter text is part of many others.`,
      })
      .meta({
        description: `The text, which may have several lines. At least ${MIN_TEXT} characters besides white space. It is deleted when the job ends.`,
        examples: ['4929 1234 5678 9012'],
      }),
    exact: z
      .boolean()
      .default(false)
      .meta({
        description:
          'Compare the text byte for byte. Otherwise, its normal form is compared, without differences ' +
          'in case, white space, invisible characters, and Unicode forms, as for a text that is kept ' +
          'out. The receipt says which.',
      }),
    ignore_case: z.boolean().default(false).meta({
      description: 'Ignore case in an `exact` comparison. Without `exact`, case is always ignored.',
    }),
    replacement: text(255).default('[erased]').meta({
      description:
        'Replaces the text in current files and drafts; empty to remove the text. A file that would become too large gets no replacement.',
    }),
    keep_out: z.boolean().default(false).meta({
      description:
        'Keep the text out before it is erased, so that no agent writes it again: out of all tenants if all are selected, which requires `read_write` access, otherwise out of each selected tenant.',
    }),
    tenants: selectionBody,
    incident,
    dry_run: z.boolean().default(true).meta({ description: 'Find and count the places, without a change.' }),
  })
  .refine(
    ({ text: wanted, exact: isExact, ignore_case: ignoresCase }) =>
      soughtUnits({ text: wanted, isExact, ignoresCase }).replaceAll(' ', '').length >= MIN_TEXT,
    { error: `requires a \`text\` with at least ${MIN_TEXT} visible characters, or \`exact\`.` },
  )
  .refine(
    ({ text: wanted, exact: isExact, ignore_case: ignoresCase, replacement }) =>
      !containsText(replacement, { text: wanted, isExact, ignoresCase }),
    { error: 'requires a `replacement` that does not contain the `text`.' },
  );

export const startErase = defineOperation({
  id: 'startErase',
  method: 'POST',
  url: '/erase',
  summary: "Erase a text from many tenants' files, history, drafts, and paths",
  description:
    'Creates a job. By default, it is a dry run, which stores the places like a find. With `dry_run: false`, the job edits current files, renames paths, and redacts versions and stored results that contain the text. `GET /v1/jobs/{job}/tenants` lists the tenants with the text, and `GET /v1/receipts?job={job}` the receipts. Start it again to continue after a failure.',
  tag: 'incidents',
  access: 'operate',
  scope: 'handler',
  body: eraseBody,
  status: 201,
  response: { description: 'The job.', schema: jobSchema },
  errors: [noSuchJob, jobNotEnded, tooManyJobs, ...keptOutErrors],
  async run(context) {
    const { config, database, administrator, body, note } = context;
    const {
      text: wanted,
      exact: isExact,
      ignore_case: ignoresCase,
      replacement,
      keep_out: keepsOut,
      dry_run: isDryRun,
    } = body;
    const selection = toTenantSelection(body.tenants, administrator.onlyTenants);
    const filters = [selection.onlyTenants ?? undefined, ...Object.values(selection.selection)];
    const selectsAll = filters.every((filter) => filter === undefined);
    if (keepsOut && selectsAll) requireRight(administrator, keepOutOfAll);
    if (keepsOut) await checkKeptOut(wanted);
    if (keepsOut && selectsAll && !isDryRun) {
      const entry = { text: wanted, label: 'erase', by: administrator.actor };
      const { id } = await addKeptOut(database, config, FOR_ALL, entry);
      note({ details: { entry: id } });
    }
    const request: StoredEraseRequest = {
      isExact,
      ignoresCase,
      keepsOut: keepsOut ? (selectsAll ? 'all' : 'tenants') : null,
      isDryRun,
    };
    const texts = { text: wanted, replacement };
    return startJob(context, { kind: ERASE, request, texts, incident: body.incident, ...selection });
  },
  location: ({ id }) => `/jobs/${id}`,
});
