interface Props {
  /** Each with its name, its value, and a link to its list, if it has one. */
  facts: [name: string, value: string, href?: string][];
}

/** Large numbers, side by side. */
export function Totals({ facts }: Props) {
  return (
    <dl class="totals">
      {facts.map(([name, value, href]) => (
        <div class="card" key={name}>
          <dt class="small">{name}</dt>
          <dd>{href === undefined ? value : <a href={href}>{value}</a>}</dd>
        </div>
      ))}
    </dl>
  );
}
