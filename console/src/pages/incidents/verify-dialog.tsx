import { useState } from 'preact/hooks';
import { type FindBody, findRequest, type Job } from '../../api/incidents-api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { useAction } from '../../ui/use-load.ts';
import { ALL, wholeChosenSelection } from './choice.ts';
import { actorQuery, storedRequest } from './incident-texts.ts';
import { openJob } from './open-job.ts';
import { keptText } from './state.ts';
import { TextField } from './text-field.tsx';

/** Finds an incident's text again, as its first job did, also in tenants without a hit. */
export function VerifyDialog({ root, onClose }: { root: Job; onClose: () => void }) {
  const known = keptText(root.id);
  const [text, setText] = useState(known ?? '');
  const action = useAction();
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
    places: (places as FindBody['places']) ?? ['current', 'superseded', 'drafts'],
    ...(by ? actorQuery(by) : {}),
    ...(since ? { since } : {}),
    ...(until ? { until } : {}),
    tenants: wholeChosenSelection(ALL, root),
    incident: root.id,
  });
  const start = () => action.run(() => openJob(request, text));
  return (
    <FormDialog
      title="Find the text again"
      verb="Find"
      isReady={text !== ''}
      hasInput={text !== (known ?? '')}
      request={request}
      action={action}
      onClose={onClose}
      onSubmit={start}
    >
      <TextField text={text} isKnown={known !== undefined} onInput={setText} />
    </FormDialog>
  );
}
