import type { Key } from '../../api/api-types.ts';
import { Name } from '../../ui/name.tsx';

/** A key with its holder. */
export function KeyName({ apiKey: { id, label, kind, tenant } }: { apiKey: Key }) {
  return (
    <>
      key <Name text={label || id} /> of{' '}
      {tenant === null ? `the ${kind}` : <Name text={`tenant ${tenant}`} />}
    </>
  );
}
