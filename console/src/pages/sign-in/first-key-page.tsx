import { useState } from 'preact/hooks';
import { ApiError, readProblem } from '../../api/api-client.ts';
import { session, storeKey } from '../../api/session-state.ts';
import { getSession } from '../../api/tenants-api.ts';
import { goTo } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorText, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useAction, useLoad } from '../../ui/use-load.ts';
import { SecretDialog } from '../keys/secret-dialog.tsx';

/** The page behind the link in the start log: creates the first admin key and signs in with it. */
export function FirstKeyPage({ token }: { token: string }) {
  const [key, setKey] = useState<string | null>(null);
  const [isUsed, setIsUsed] = useState(false);
  const action = useAction();
  const { data: isValid, error, reload } = useLoad(() => checkLink(token), [token]);
  const create = () =>
    action.run(async () => {
      const created = await createFirstKey(token);
      if (created === null) setIsUsed(true);
      else setKey(created);
    });
  const enter = (created: string) =>
    action.run(async () => {
      storeKey(created);
      session.value = await getSession();
      goTo('#/');
    });
  if (key !== null)
    return (
      <SecretDialog
        apiKey={{ kind: 'admin', tenant: null, access: 'read_write' }}
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
        {error !== undefined && <LoadError error={error} onRetry={reload} />}
        {isValid === undefined && error === undefined && <Loading what="the link" />}
        {isValid === false || isUsed ? (
          <>
            <p class="notice warning" role="alert">
              This link was used, or the service has started again since. It cannot create a key.
            </p>
            <a class="button primary" href="#/">
              Sign in with an admin key
            </a>
            <p class="muted small">
              Without an admin key, create one on the server: <code>memory-service keys create --admin</code>
            </p>
          </>
        ) : (
          isValid && (
            <>
              <p>
                This service has no admin key yet. Create the first one: it has full access to this console,
                to the admin API, and to the memory of every tenant.
              </p>
              <ErrorText message={action.error} />
              <Button text="Create admin key" class="primary" disabled={action.isRunning} onClick={create} />
              <p class="muted small">The link works once, and until the service stops.</p>
            </>
          )
        )}
      </div>
    </main>
  );
}

/** Statuses for a link that is over: another token, no offer since the last start, and a key that exists. */
const OVER = [401, 404, 409];

/** Returns null if the link is over. */
async function post(path: string, token: string): Promise<Response | null> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  if (OVER.includes(response.status)) return null;
  if (response.ok) return response;
  throw new ApiError(response.status, await readProblem(response));
}

const checkLink = async (token: string) => (await post('sign-in/first-key/check', token)) !== null;

/** Returns null if the link is over. */
async function createFirstKey(token: string): Promise<string | null> {
  const response = await post('sign-in/first-key', token);
  return response === null ? null : (await response.json()).key;
}
