import { useState } from 'preact/hooks';
import { eraseRequest, type TenantSelection } from '../../api/incidents-api.ts';
import { canManageFleet, onlyTenants } from '../../api/session-state.ts';
import { CheckField, TextField } from '../../ui/fields.tsx';
import { IncidentText } from './incident-text.tsx';
import { JobDialog } from './job-dialog.tsx';

const REPLACEMENT = '[erased]';

interface Props {
  /** The job's text. Undefined if only another tab knew the text. */
  text: string | undefined;
  /** The job's text comparison. */
  comparison: { exact: boolean; ignore_case: boolean };
  tenants: TenantSelection;
  /** The tenants that the job reads, in words: all selected ones, including tenants in which the find had no hit. */
  reads: string;
  /** The places in words, if the job has read all of them. Undefined if a dry run must still be made. */
  places: string | undefined;
  /** The incident's first job. */
  incident: string;
  onClose: () => void;
}

/** Erases a text. If its places are not all known, the dialog first starts a dry run. */
export function EraseDialog({ text: known, comparison, tenants, reads, places, incident, onClose }: Props) {
  const [text, setText] = useState(known ?? '');
  const [replacement, setReplacement] = useState(REPLACEMENT);
  const [keepsOut, setKeepsOut] = useState(false);
  const [isSure, setIsSure] = useState(false);
  const isForAll = onlyTenants.value === null && Object.values(tenants).every((each) => each === undefined);
  const mayKeepOut = canManageFleet.value || !isForAll;
  // A text that differs from the job's text has other places.
  const isDryRun = places === undefined || known === undefined || text !== known;
  const request = eraseRequest({
    text,
    ...comparison,
    replacement,
    keep_out: keepsOut,
    tenants,
    dry_run: isDryRun,
    incident,
  });
  return (
    <JobDialog
      title="Erase this text"
      verb={isDryRun ? 'Dry run' : 'Erase'}
      isDangerous={!isDryRun}
      isReady={text.trim() !== '' && (isDryRun || isSure)}
      hasInput={replacement !== REPLACEMENT || text !== (known ?? '')}
      request={request}
      text={text}
      onClose={onClose}
    >
      <IncidentText text={text} isKnown={known !== undefined} onInput={setText} />
      <p>
        Reads <strong>{reads}</strong>, also those where the find had no hit, and erases the text wherever it
        is: replaces it in current files and drafts, renames paths, and redacts versions and stored results.{' '}
        {comparison.exact
          ? `Compares byte for byte${comparison.ignore_case ? ', ignoring case' : ''}.`
          : 'Also in another case, with other spaces, or in another Unicode form.'}
      </p>
      {!isDryRun && (
        <>
          <TextField
            label="Replacement"
            maxLength={255}
            spellcheck={false}
            value={replacement}
            onChange={setReplacement}
          />
          {mayKeepOut && (
            <CheckField checked={keepsOut} onChange={setKeepsOut}>
              Keep the text out of new writes
            </CheckField>
          )}
          <CheckField checked={isSure} onChange={setIsSure}>
            Erase {places}. This cannot be undone.
          </CheckField>
        </>
      )}
      {isDryRun && <p class="muted small">The dry run only lists the places.</p>}
    </JobDialog>
  );
}
