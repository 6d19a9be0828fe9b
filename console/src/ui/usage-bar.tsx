import { useId } from 'preact/hooks';

interface Props {
  label: string;
  used: number;
  /** Null or 0 means no limit. */
  limit: number | null;
  format: (value: number) => string;
}

const NEARLY_FULL = 0.9;

/** Shows the used share of a quota. */
export function UsageBar({ label, used, limit, format }: Props) {
  const id = useId();
  const share = limit ? used / limit : 0;
  const level = share >= 1 ? 'full' : share >= NEARLY_FULL ? 'nearly-full' : '';
  return (
    <div class={`usage ${level}`}>
      <span id={id}>
        <span class="visually-hidden">{label}: </span>
        {format(used)}
        <span class="muted"> {limit ? `of ${format(limit)}` : ''}</span>
      </span>
      {limit ? <meter aria-labelledby={id} value={Math.min(used, limit)} max={limit} /> : null}
    </div>
  );
}
