import { InvalidArgumentError, Option } from 'commander';
import { tenantId } from '../../../core/cli/arguments.ts';
import { type Cli, command, group } from '../../../core/cli/cli-command.ts';
import type { Io } from '../../../core/cli/io.ts';
import { readText } from '../../../core/cli/memory-commands.ts';
import { printLine, table, time } from '../../../core/cli/output.ts';
import { parseDuration } from '../../../core/lib/units.ts';
import { MOUNT_ACCESS, type Mount } from '../../../core/memory/mount.ts';
import type { MemoryPath } from '../../../core/memory/path.ts';
import {
  acceptInvitation,
  createInvitation,
  endShare,
  listInvitations,
  listShares,
  revokeInvitation,
} from '../sharing-operations.ts';

const EFFECT = 'Agents see the change within AUTH_CACHE_SECONDS.';

interface InviteOptions {
  access: Mount['access'];
  prefix?: MemoryPath;
  reusable?: boolean;
  expires: number;
}

const createCommand = (cli: Cli) =>
  command(cli, 'create', "Invite another tenant to mount a tenant's memory, and print the token.")
    .argument('<tenant>', 'ID of the tenant whose memory is shared', tenantId)
    .addOption(
      new Option('--access <access>', 'access to the memory for the other tenant')
        .choices(MOUNT_ACCESS)
        .default('read_only'),
    )
    .option('--prefix <path>', 'file or directory that is shared (default: everything)')
    .option('--reusable', 'several tenants may accept the invitation')
    .addOption(
      new Option('--expires <duration>', 'time after which it expires: 1h, 7d')
        .argParser(expirySeconds)
        .default(7 * 24 * 60 * 60, '7d'),
    )
    .option('--json', 'print JSON')
    .examples('memory-service invitations create team --access read_write --expires 1d')
    .run(async ({ caller }, tenant: string, options: InviteOptions) => {
      const { access, prefix, reusable = false, expires } = options;
      const body = { access, prefix, reusable, expires_in_seconds: expires };
      const created = await caller.call(createInvitation, { params: { tenant }, body });
      const note = `Created invitation ${created.id}. Its token cannot be shown again:`;
      return { json: created, note, text: created.token };
    });

function expirySeconds(value: string): number {
  const duration = parseDuration(value);
  if (duration !== undefined) return Math.ceil(duration / 1000);
  throw new InvalidArgumentError('Use a duration: 1h, 7d.');
}

const listInvitationsCommand = (cli: Cli) =>
  command(cli, 'list', "List a tenant's invitations that are neither used nor expired.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', 'print JSON')
    .examples('memory-service invitations list team')
    .run(async ({ caller }, tenant: string) => {
      const { invitations } = await caller.call(listInvitations, { params: { tenant } });
      const text = table(invitations, {
        ID: ({ id }) => id,
        ACCESS: ({ access }) => access,
        PREFIX: ({ prefix }) => prefix ?? '-',
        REUSABLE: ({ reusable }) => (reusable ? 'yes' : 'no'),
        ACCEPTED: ({ accepted }) => accepted,
        KEY: ({ key }) => key ?? '(operator)',
        EXPIRES: (invitation) => time(invitation.expires_at),
      });
      return { json: invitations, text };
    });

const revokeCommand = (cli: Cli) =>
  command(cli, 'revoke', 'Revoke an invitation. Shares that were accepted before remain.')
    .argument('<tenant>', 'ID of the tenant whose memory is shared', tenantId)
    .argument('<id>', 'ID of the invitation, from `invitations list`')
    .examples('memory-service invitations revoke team inv_0123456789ab')
    .run(async ({ caller }, tenant: string, invitation: string) => {
      await caller.call(revokeInvitation, { params: { tenant, invitation } });
      return `Revoked invitation ${invitation}.`;
    });

const acceptCommand = (cli: Cli) =>
  command(cli, 'accept', 'Accept an invitation, whose token is read from standard input.')
    .argument('<tenant>', 'ID of the tenant that gets the mount', tenantId)
    .argument('<name>', 'name of the directory below /memories')
    .option('--instructions <text>', 'purpose of the directory, in words for the model', '')
    .option('--json', 'print JSON')
    .examples('memory-service shares accept builder team < token.txt')
    .run(async ({ caller, io }, tenant: string, name: string, options: { instructions: string }) => {
      const token = (await readText('-', io)).trim();
      const body = { token, name, instructions: options.instructions };
      const share = await caller.call(acceptInvitation, { params: { tenant }, body });
      return {
        json: share,
        text: `Mounted ${share.path} in tenant ${tenant} by share ${share.id}. ${EFFECT}`,
      };
    });

const listSharesCommand = (cli: Cli) =>
  command(cli, 'list', 'List with whom a tenant shares its memory, and who shares with it.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', 'print JSON')
    .examples('memory-service shares list team')
    .run(async ({ caller }, tenant: string) => {
      const shares = await caller.call(listShares, { params: { tenant } });
      const text = (io: Io) => {
        table(shares.given, {
          ID: ({ id }) => id,
          'SHARED WITH': (share) => share.tenant,
          ACCESS: ({ access }) => access,
          PREFIX: ({ prefix }) => prefix ?? '-',
          SINCE: (share) => time(share.created_at),
        })(io);
        printLine(io.stdout, '');
        table(shares.received, {
          ID: ({ id }) => id,
          'SHARED BY': (share) => share.tenant,
          DIRECTORY: ({ path }) => path,
          ACCESS: ({ access }) => access,
          PREFIX: ({ prefix }) => prefix ?? '-',
          STATUS: ({ status }) => status ?? '-',
          SINCE: (share) => time(share.created_at),
        })(io);
      };
      return { json: shares, text };
    });

const endCommand = (cli: Cli) =>
  command(cli, 'end', 'End a share that a tenant gives or receives. Both memories are unchanged.')
    .argument('<tenant>', 'ID of one of the two tenants', tenantId)
    .argument('<id>', 'ID of the share, from `shares list`')
    .examples('memory-service shares end team shr_0123456789ab')
    .run(async ({ caller }, tenant: string, share: string) => {
      await caller.call(endShare, { params: { tenant, share } });
      return `Ended share ${share}. ${EFFECT}`;
    });

export const invitationCommands = group('invitations', "Invite other tenants to mount a tenant's memory.", [
  createCommand,
  listInvitationsCommand,
  revokeCommand,
]);

export const shareCommands = group('shares', 'Accept invitations, and list and end shares.', [
  acceptCommand,
  listSharesCommand,
  endCommand,
]);
