import { useState } from 'preact/hooks';
import { toHref } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { lazy } from '../../ui/lazy.tsx';
import { FirstWrite } from '../keys/first-write.tsx';

const NewKeyDialog = lazy('the form', async () => (await import('../keys/new-key-dialog.tsx')).NewKeyDialog);

/** The next steps in a memory that was never changed. Stays until the page is left, so that it shows the first write. */
export function ConnectAgent({ tenant }: { tenant: string }) {
  const [isCreating, setIsCreating] = useState(false);
  return (
    <section class="card connect-agent" aria-label="Connect an agent">
      <h2>Connect an agent</h2>
      <p class="muted small">
        Create a key for the agent. It comes with the settings and a first request in curl, TypeScript, and
        Python. Or <a href={toHref(['tenants', tenant, 'playground'])}>run a command yourself</a>.
      </p>
      <Button text="New key for an agent…" class="primary" onClick={() => setIsCreating(true)} />
      <FirstWrite tenant={tenant} />
      {isCreating && (
        <NewKeyDialog
          tenant={tenant}
          access="read_write"
          onClose={() => setIsCreating(false)}
          onCreated={() => {}}
        />
      )}
    </section>
  );
}
