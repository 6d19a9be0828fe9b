import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../../api/api-client.ts';
import {
  endSession,
  hasLeftAccount,
  hasOpenId,
  openProvider,
  session,
  signedOutBecause,
  storeKey,
} from '../../api/session-state.ts';
import { getSession } from '../../api/tenants-api.ts';
import { count } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useAction } from '../../ui/use-load.ts';
import { openBulk } from '../tenants/bulk/open-bulk.tsx';

export function SignInPage() {
  const [key, setKey] = useState('');
  const [isWithProvider, setWithProvider] = useState(false);
  const action = useAction();
  useEffect(() => void hasOpenId().then(setWithProvider, () => {}), []);
  useEffect(() => {
    if (!isWithProvider) return;
    addEventListener('focus', continueSession);
    return () => removeEventListener('focus', continueSession);
  }, [isWithProvider]);
  const signIn = () =>
    action.run(async () => {
      storeKey(key.trim());
      try {
        session.value = await getSession();
      } catch (error) {
        endSession(null);
        throw error instanceof ApiError ? rewordError(error) : error;
      }
    });
  return (
    <main class="sign-in">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (!action.isRunning) void signIn();
        }}
      >
        <img src="./icon.svg" alt="" width="40" height="40" />
        <h1>Memory console</h1>
        {signedOutBecause.value !== null && action.error === null && (
          <p class="notice warning" role="alert">
            {signedOutBecause.value}
          </p>
        )}
        {openBulk.value !== null && (
          <p class="notice">
            The action on {count(openBulk.value.targets.count, 'tenant')} continues after you sign in.
            {isWithProvider &&
              ' To sign in with your account, use another tab: leaving this page ends the action.'}
          </p>
        )}
        {hasLeftAccount.value && (
          <p class="notice">
            You are signed out of this console. <a href="sign-out/openid">Sign out of your account</a> as well
            if other people use this browser.
          </p>
        )}
        {isWithProvider && (
          <>
            <Button text="Continue with your account" class="primary" onClick={openProvider} />
            <p class="muted small">Or use an admin key.</p>
          </>
        )}
        <label>
          Admin key
          <input
            type="password"
            required
            autoComplete="off"
            spellcheck={false}
            placeholder="msk_…"
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <ErrorText message={action.error} />
        <button type="submit" class={isWithProvider ? '' : 'primary'} disabled={action.isRunning}>
          Sign in
        </button>
        <p class="muted small">
          Create a key with <code>memory-service keys create --admin</code>. It stays in this tab and is
          forgotten when you close it.
        </p>
      </form>
    </main>
  );
}

/** Uses the session that another tab began. */
async function continueSession(): Promise<void> {
  // Without a session, the page stays.
  const info = await getSession().catch(() => null);
  if (info !== null) session.value = info;
}

function rewordError(error: ApiError): Error {
  if (error.status === 401)
    return new ApiError(401, { detail: 'This key is not valid, expired, or was revoked.' });
  if (error.code === 'not_an_admin_key') {
    return new ApiError(403, {
      detail: 'This is not an admin key. Keys of tenants and services do not work here.',
    });
  }
  return error;
}
