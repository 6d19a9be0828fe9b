import type { ComponentProps } from 'preact';
import type { ApiRequest } from '../../api/api-client.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { openJob } from './open-job.ts';

interface Props extends Omit<ComponentProps<typeof ActionDialog>, 'onSubmit'> {
  /** Undefined while input is missing. */
  request: ApiRequest | undefined;
  /** Text for the job's page to keep in this tab. */
  text?: string;
}

/** Dialog that starts a job, and opens its page. */
export const JobDialog = ({ request, text, isReady = true, ...dialog }: Props) => (
  <ActionDialog
    {...dialog}
    request={request}
    isReady={isReady && request !== undefined}
    onSubmit={async () => {
      if (request !== undefined) await openJob(request, text);
    }}
  />
);
