import type { ApiRequest } from '../../api/api-client.ts';
import { sendJob } from '../../api/incidents-api.ts';
import { goTo, toHref } from '../../router.ts';
import { keepText } from './state.ts';

/**
 * Starts a job, and opens its page.
 *
 * @param text text for the job's page to keep in this tab
 */
export async function openJob(request: ApiRequest, text?: string): Promise<void> {
  const { id } = await sendJob(request);
  if (text !== undefined) keepText(id, text);
  goTo(toHref(['incidents', id]));
}
