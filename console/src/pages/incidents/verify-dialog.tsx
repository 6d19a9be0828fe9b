import { useState } from 'preact/hooks';
import { findRequest, type Job } from '../../api/incidents-api.ts';
import { ALL, wholeChosenSelection } from './choice.ts';
import { EMPTY } from './form-input.ts';
import { IncidentText } from './incident-text.tsx';
import { actorQuery, storedRequest } from './incident-texts.ts';
import { JobDialog } from './job-dialog.tsx';
import { keptText } from './state.ts';

/** Finds an incident's text again, as its first job did, also in tenants without a hit. */
export function VerifyDialog({ root, onClose }: { root: Job; onClose: () => void }) {
  const known = keptText(root.id);
  const [text, setText] = useState(known ?? '');
  const {
    mode = 'literal',
    where = 'both',
    isExact,
    ignoresCase,
    places,
    by,
    since,
    until,
  } = storedRequest(root);
  const request = findRequest({
    text,
    mode,
    exact: isExact ?? false,
    ignore_case: ignoresCase ?? false,
    in: where,
    places: places ?? EMPTY.places,
    ...(by ? actorQuery(by) : {}),
    ...(since ? { since } : {}),
    ...(until ? { until } : {}),
    tenants: wholeChosenSelection(ALL, root),
    incident: root.id,
  });
  return (
    <JobDialog
      title="Find the text again"
      verb="Find"
      isReady={text !== ''}
      hasInput={text !== (known ?? '')}
      request={request}
      text={text}
      onClose={onClose}
    >
      <IncidentText text={text} isKnown={known !== undefined} onInput={setText} />
    </JobDialog>
  );
}
