import type { ComponentChildren } from 'preact';
import { canManageFleet, onlyTenants, session } from '../../api/session-state.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { findServiceUrl } from '../keys/snippets.ts';

/** Steps from a new installation to the first call, instead of an empty tenant list. */
export function FirstSteps({ onCreate }: { onCreate: () => void }) {
  if (onlyTenants.value !== null) {
    return (
      <Empty title="No tenants yet">
        <p>The tenants of your key do not exist. Ask an admin of all tenants to create them.</p>
      </Empty>
    );
  }
  const info = session.value;
  if (info === null) return null;
  const url = findServiceUrl(info, location);
  return (
    <section class="card first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">Three steps to the first memory</h2>
      <ol>
        <Step title="Create a tenant" code="memory-service tenants create acme">
          <p>A tenant is one isolated memory: of a customer, a user, or an agent.</p>
          {canManageFleet.value && (
            <button type="button" onClick={onCreate}>
              Create a tenant…
            </button>
          )}
        </Step>
        <Step title="Create a key" code="memory-service keys create --tenant acme --label 'my agent'">
          <p>
            In the settings of the tenant, choose New key. The key is shown once, with settings and code for
            its user. Or run:
          </p>
        </Step>
        <Step
          title="Call the service"
          code={[
            `curl ${url}/execute`,
            "-H 'Authorization: Bearer THE_KEY'",
            "-H 'Content-Type: application/json'",
            `-d '{"command":"create","path":"/memories/hello.md","file_text":"Hello\\n"}'`,
          ].join(' \\\n  ')}
        >
          <p>The file then appears here, in the memory of the tenant.</p>
        </Step>
      </ol>
    </section>
  );
}

function Step({ title, code, children }: { title: string; code: string; children: ComponentChildren }) {
  return (
    <li>
      <h3>{title}</h3>
      {children}
      <div class="step-code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and without the focus the keyboard cannot scroll it. */}
        <pre class="code snippet" tabIndex={0}>
          {code}
        </pre>
        <CopyButton text={code} what={`the command of “${title}”`} />
      </div>
    </li>
  );
}
