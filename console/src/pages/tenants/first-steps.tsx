import type { ComponentChildren } from 'preact';
import { canManageFleet, onlyTenants } from '../../api/session-state.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { KeySnippets } from '../keys/key-snippets.tsx';
import { HELLO } from '../keys/snippets.ts';

/** Steps from a new installation to the first call, instead of an empty tenant list. */
export function FirstSteps({ onCreate }: { onCreate: () => void }) {
  if (onlyTenants.value !== null) {
    return (
      <Empty title="No tenants yet">
        <p>The tenants of your key do not exist. Ask an admin of all tenants to create them.</p>
      </Empty>
    );
  }
  return (
    <section class="card first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">Three steps to the first memory</h2>
      <p class="muted">Each step is here in the console, or a command to copy.</p>
      <ol>
        <Step title="Create a tenant" code="memory-service tenants create acme">
          <p>A tenant is one isolated memory: of a customer, a user, or an agent.</p>
          {canManageFleet.value && <Button text="Create a tenant…" class="primary" onClick={onCreate} />}
        </Step>
        <Step title="Create a key" code="memory-service keys create --tenant acme --label 'my agent'">
          <p>The new tenant's page offers it. The key is shown once, with settings and code for the agent.</p>
        </Step>
        <Step title="Let the agent write">
          <p>The tenant's page waits for the first write, and links to the file.</p>
          <KeySnippets apiKey={{ kind: 'tenant', tenant: null }} secret="THE_KEY" input={HELLO} isRequest />
        </Step>
      </ol>
    </section>
  );
}

function Step({ title, code, children }: { title: string; code?: string; children: ComponentChildren }) {
  return (
    <li>
      <h3>{title}</h3>
      {children}
      {code && (
        <div class="row step-code">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and without the focus the keyboard cannot scroll it. */}
          <pre class="code snippet" tabIndex={0}>
            {code}
          </pre>
          <CopyButton text={code} what={`the command of “${title}”`} />
        </div>
      )}
    </li>
  );
}
