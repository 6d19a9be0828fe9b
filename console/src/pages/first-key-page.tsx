import { useState } from 'preact/hooks';
import { ApiError, problemOf } from '../api/client.ts';
import { session, storeKey } from '../api/session.ts';
import { getSession } from '../api/tenants.ts';
import { goTo } from '../router.ts';
import { ErrorText } from '../ui/messages.tsx';
import { useAction } from '../ui/use-load.ts';
import { SecretDialog } from './keys/secret-dialog.tsx';

/** The page of the link in the start log: creates the first admin key and signs in with it. */
export function FirstKeyPage({ token }: { token: string }) {
  const [key, setKey] = useState<string | null>(null);
  const action = useAction();
  const create = () => action.run(async () => setKey(await createFirstKey(token)));
  const enter = (created: string) =>
    action.run(async () => {
      storeKey(created);
      session.value = await getSession();
      goTo('#/');
    });
  if (key !== null)
    return (
      <SecretDialog
        apiKey={{ kind: 'admin', tenant: null }}
        title="Your admin key"
        secret={key}
        onClose={() => void enter(key)}
      />
    );
  return (
    <main class="sign-in">
      <div class="card">
        <img src="./icon.svg" alt="" width="40" height="40" />
        <h1>Welcome</h1>
        <p>
          This service has no admin key yet. Create the first one: it has full access to this console, to the
          admin API, and to the memory of every tenant.
        </p>
        <ErrorText message={action.error} />
        <button type="button" class="primary" disabled={action.isRunning} onClick={create}>
          Create admin key
        </button>
        <p class="muted small">The link works once, and until the service stops.</p>
      </div>
    </main>
  );
}

async function createFirstKey(token: string): Promise<string> {
  const response = await fetch('sign-in/first-key', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  if (response.ok) return (await response.json()).key;
  const problem = await problemOf(response);
  const detail = response.status === 401 ? LINK_OVER : problem.detail;
  throw new ApiError(response.status, detail === undefined ? {} : { detail });
}

const LINK_OVER =
  'This link is over. Restart the service for another one, or run memory-service keys create --admin.';
