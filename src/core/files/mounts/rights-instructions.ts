import { ROOT } from '../../memory/path.ts';
import { accessTo, hidesPaths, type PathAccess, type Right } from '../../memory/rights.ts';
import { isReader, type Principal } from '../../tenants/principal.ts';

const HEADER = 'Your access depends on the path. The longest path applies:';

const USES: Record<PathAccess, string> = {
  none: 'you can neither read nor write',
  read_only: 'read-only',
  propose: 'your changes wait for a reviewer',
  read_write: 'you can write',
};

/**
 * Returns the text for an agent's system prompt that lists its rights by path; empty if the agent's access is the same
 * for all paths.
 */
export function rightsInstructions(principal: Pick<Principal, 'access' | 'rights' | 'proposesAs'>): string {
  const { rights = [] } = principal;
  const onlyReads = isReader(principal);
  if (rights.length === 0 || (onlyReads && !hidesPaths(rights))) return '';
  const root = { path: ROOT, access: accessTo(rights, ROOT) };
  const use = (access: PathAccess) => {
    if (onlyReads && access !== 'none') return USES.read_only;
    // All changes by a propose-only key wait for a reviewer.
    return access === 'propose' && principal.proposesAs !== undefined ? USES.read_write : USES[access];
  };
  const line = ({ path, access }: Right) => `- ${path} (${use(access)})`;
  return [HEADER, ...[root, ...rights.filter(({ path }) => path !== ROOT)].map(line)].join('\n');
}
