/** Days after which a file that was never read is a finding. */
export const UNREAD_DAYS = 30;
/** Days without a read or a write after which a file is a finding. */
export const STALE_DAYS = 90;
/** Number of direct entries that a directory may have. */
export const MAX_ENTRIES = 200;
/** Maximum number of items that a finding lists. */
export const MAX_ITEMS = 100;

interface FindingKind {
  title: string;
  /** Returns the command that helps, for a tenant and the first item's detail. */
  command(tenant: string, detail: string): string;
}

const expire = (tenant: string) => `memory-service tenants set ${tenant} --ttl-days ${STALE_DAYS}`;
const draft = (title: string) => (tenant: string) =>
  `memory-service drafts create ${tenant} --title '${title}'`;

/** Kinds of findings, in display order. */
export const KINDS = {
  unread: {
    title: `Never read since the last write, ${UNREAD_DAYS} days ago or earlier`,
    command: expire,
  },
  stale: {
    title: `Not read and not written for ${STALE_DAYS} days`,
    command: expire,
  },
  duplicate: {
    title: 'Same content as another file',
    command: draft('Delete duplicates'),
  },
  similar: {
    title: 'Almost the same words as another file',
    command: draft('Merge similar files'),
  },
  large: {
    title: 'Longer than the context of an agent',
    command: draft('Split large files'),
  },
  secret: {
    title: 'With text that looks like a secret',
    command: (tenant) => `memory-service erase - --tenant ${tenant}`,
  },
  broken_link: {
    title: 'With a link to a missing file',
    command: (tenant, target) => `memory-service log ${tenant} ${quote(target)}`,
  },
  crowded: {
    title: `Directories with more than ${MAX_ENTRIES} entries`,
    command: draft('Sort files into directories'),
  },
} satisfies Record<string, FindingKind>;

export type Kind = keyof typeof KINDS;
export const kinds = Object.keys(KINDS) as [Kind, ...Kind[]];

export interface Item {
  path: string;
  detail: string;
}

/** Findings in a memory. Only the first items of each kind are kept. */
export class Findings {
  readonly #found = new Map<Kind, { total: number; items: Item[] }>();

  add(kind: Kind, path: string, detail: string): void {
    const found = this.#found.get(kind) ?? { total: 0, items: [] };
    this.#found.set(kind, found);
    found.total++;
    if (found.items.length < MAX_ITEMS) found.items.push({ path, detail });
  }

  /** Returns a report for each kind, also for kinds without items. */
  report(tenant: string) {
    return kinds.map((kind) => {
      const { total, items } = this.#found.get(kind) ?? { total: 0, items: [] };
      const { title, command }: FindingKind = KINDS[kind];
      const [first] = items;
      return { kind, title, total, items, command: first ? command(tenant, first.detail) : null };
    });
  }
}

/** Quotes an argument for a POSIX shell, if necessary. */
function quote(argument: string): string {
  return /^[\w./@+-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", String.raw`'\''`)}'`;
}
