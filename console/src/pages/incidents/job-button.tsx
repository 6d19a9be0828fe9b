import type { ComponentChildren } from 'preact';
import type { ApiRequest } from '../../api/api-client.ts';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useAction } from '../../ui/use-load.ts';
import { openJob } from './open-job.ts';

interface Props {
  request: ApiRequest;
  class?: string;
  disabled?: boolean;
  children: ComponentChildren;
}

/** Button that starts a job, and opens its page. */
export function JobButton({ request, disabled = false, children, ...button }: Props) {
  const action = useAction();
  return (
    <>
      <button
        {...button}
        type="button"
        disabled={disabled || action.isRunning}
        onClick={() => action.run(() => openJob(request))}
      >
        {children}
      </button>
      <ErrorText message={action.error} />
    </>
  );
}
