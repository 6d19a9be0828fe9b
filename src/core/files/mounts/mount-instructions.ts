import { z } from 'zod';
import type { Unavailable } from '../../memory/messages.ts';
import { MOUNT_ACCESS, type Mount, mountPath, shownPath } from '../../memory/mount.ts';
import { MEMORY_PROTOCOL } from '../../memory/protocol.ts';
import { shownPrefix } from '../../tenants/mounts.ts';
import type { TenantPolicy } from '../../tenants/policy-cache.ts';
import { isReader, type Principal } from '../../tenants/principal.ts';
import type { Services } from '../services.ts';
import { catchUnreachable, mountedPolicy } from './mounted-policy.ts';
import { rightsInstructions } from './rights-instructions.ts';

const READ_ONLY_PROTOCOL =
  'Your memory is read-only: view it before doing anything else, and do not try to change it.';

const MOUNTS_HEADER = 'These directories of your memory are memories of their own, which others may use too:';

const USES: Record<Mount['access'], string> = {
  read_only: 'read-only',
  propose: 'your changes wait for a reviewer; view a file right before you change it',
  read_write: 'you can write; view a file right before you change it',
};

export const instructionsSchema = z
  .object({
    content: z.string().meta({ description: "For the agent's system prompt." }),
    mounts: z.array(
      z.object({
        path: z.string().meta({ examples: ['/memories/team'] }),
        access: z.enum(MOUNT_ACCESS),
        prefix: shownPrefix,
        instructions: z.string(),
      }),
    ),
  })
  .meta({ id: 'Instructions', description: 'Instructions for an agent about its memory.' });

/** Text for an agent's system prompt, with its mounts. */
export type Instructions = z.infer<typeof instructionsSchema>;

interface Reader {
  principal: Pick<Principal, 'access' | 'rights' | 'proposesAs'>;
  policy: Pick<TenantPolicy, 'mounts'>;
  ip: string;
}

/**
 * Returns the text for an agent's system prompt: the memory protocol, the rights by path, and the mounts with their
 * instructions.
 *
 * @param withProtocol false if the Claude API already adds the protocol
 * @param scope tenants whose availability may be revealed; null means all
 */
export async function instructionsFor(
  { principal, policy: { mounts }, ip }: Reader,
  { policies }: Pick<Services, 'policies'>,
  withProtocol: boolean,
  scope: readonly string[] | null = null,
): Promise<Instructions> {
  const onlyReads = isReader(principal);
  const protocol = withProtocol ? [onlyReads ? READ_ONLY_PROTOCOL : MEMORY_PROTOCOL] : [];
  const seen = await Promise.all(
    mounts.map(async (mount) => {
      const isVisible = scope === null || scope.includes(mount.tenant);
      const policy = isVisible ? await catchUnreachable(() => mountedPolicy(mount, policies, ip)) : undefined;
      const access = onlyReads ? 'read_only' : mount.access;
      return { ...mount, access, unavailable: typeof policy === 'string' ? policy : undefined };
    }),
  );
  const rights = rightsInstructions(principal);
  const list = seen.length === 0 ? [] : [[MOUNTS_HEADER, ...seen.map(mountLine)].join('\n')];
  return {
    content: [...protocol, ...(rights === '' ? [] : [rights]), ...list].join('\n\n'),
    mounts: seen.map(({ access, prefix, instructions, ...mount }) => ({
      path: mountPath(mount),
      access,
      prefix,
      instructions,
    })),
  };
}

function mountLine({
  access,
  instructions,
  unavailable,
  ...mount
}: Mount & { unavailable: Unavailable | undefined }): string {
  const state = unavailable === undefined ? USES[access] : 'not available at the moment';
  const line = `- ${shownPath(mount)} (${state})`;
  return instructions === '' ? line : `${line}: ${instructions}`;
}
