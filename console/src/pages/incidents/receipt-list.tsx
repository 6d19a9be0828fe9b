import { listReceipts, type StoredReceipt } from '../../api/incidents-api.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { MoreButton } from '../../ui/more-button.tsx';
import { Name } from '../../ui/name.tsx';
import { save } from '../../ui/save.ts';
import { LoadError } from '../../ui/status-messages.tsx';
import { usePages } from '../../ui/use-pages.ts';

/** Offers an erasure's signed receipts, and the command that verifies a receipt. */
export function Receipts({ job }: { job: string }) {
  const pages = usePages('receipts', (after, signal) => listReceipts(job, after, signal), [job]);
  const { items, error, reload } = pages;
  if (error !== undefined) return <LoadError error={error} onRetry={reload} />;
  if (items === undefined || items.length === 0) return null;
  const ofJob = items.filter(({ receipt }) => receipt.tenant === null);
  const ofTenants = items.filter(({ receipt }) => receipt.tenant !== null);
  return (
    <section class="card receipts" aria-label="Receipts">
      <h2>Signed receipt</h2>
      <p class="muted small">
        Counts the erased data, and lists the copies that remain by design. Verify the file with the command.
      </p>
      <ul>
        {ofJob.map((receipt) => (
          <ReceiptRow key={receipt.receipt.id} signed={receipt} />
        ))}
      </ul>
      {ofTenants.length > 0 && (
        <details>
          <summary class="small">Receipts of single tenants</summary>
          <ul>
            {ofTenants.map((receipt) => (
              <ReceiptRow key={receipt.receipt.id} signed={receipt} />
            ))}
          </ul>
          <MoreButton pages={pages}>Show more receipts</MoreButton>
        </details>
      )}
    </section>
  );
}

function ReceiptRow({ signed: { public_key: _, ...signed } }: { signed: StoredReceipt }) {
  const { id, tenant } = signed.receipt;
  const name = `receipt-${id}.json`;
  const command = `memory-service receipts verify ${name}`;
  return (
    <li class="cluster">
      <Button
        icon="download"
        text="Download"
        onClick={() => save(new Blob([`${JSON.stringify(signed, null, 2)}\n`]), name)}
        aria-label={`Download the receipt ${id}`}
      />
      {tenant !== null && <Name text={tenant} />}
      <span class="row">
        <code>{command}</code>
        <CopyButton text={command} what="the command" />
      </span>
    </li>
  );
}
