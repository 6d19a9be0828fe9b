import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Mount } from '../memory/mount.ts';
import { isMountName, MAX_INSTRUCTIONS, MOUNT_NAME_RULE } from '../tenants/mount-schema.ts';
import { mountedBy, mountStatuses, removeMount, setMount } from '../tenants/mounts.ts';
import { storableText } from '../util/storable-text.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine, printTable } from './output.ts';
import { audited, type Open, withDatabase, withTenant } from './session.ts';

const EFFECT = 'It takes effect within AUTH_CACHE_SECONDS.';
/** How many mounts by others are printed. */
const MAX_LISTED = 1000;

interface MountCommandOptions extends Pick<Mount, 'access' | 'instructions'> {
  name?: string;
}

/** `tenants mount|unmount|mounts`. */
export function registerMountCommands(tenants: Command, open: Open, io: Io): void {
  registerMount(tenants, open, io);
  registerUnmount(tenants, open, io);
  registerMounts(tenants, open, io);
}

function registerMount(tenants: Command, open: Open, io: Io): void {
  tenants
    .command('mount')
    .description("Show another tenant's memory as a directory, or change how it is shown.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<mounted>', 'ID of the tenant whose memory is shown', tenantId)
    .option('--name <name>', 'name of the directory below /memories (default: the ID)', mountName)
    .addOption(
      new Option('--access <access>', 'what agents may do in it, whatever their keys allow elsewhere')
        .choices(['read_only', 'read_write'])
        .default('read_only'),
    )
    .option('--instructions <text>', 'what it is for, in words for the model', instructionsText, '')
    .addHelpText(
      'after',
      "\nExample:\n  memory-service tenants mount builder team --access read_write --instructions 'What all builders have learned.'",
    )
    .action((tenant: string, mounted: string, options: MountCommandOptions, command: Command) => {
      const { name = mounted, access, instructions } = options;
      if (!isMountName(name))
        command.error(`error: the ID ${mounted} cannot be the directory's name; choose one with --name`);
      return withDatabase(open, async ({ database }) => {
        const mount = { name, tenant: mounted, access, instructions };
        const details = { name, new: { tenant: mounted, access } };
        await audited({ database, io }, 'setMount', { tenant, details }, () =>
          setMount(database, tenant, mount),
        );
        printLine(io.stdout, `Mounted tenant ${mounted} as /memories/${name} of tenant ${tenant}. ${EFFECT}`);
      });
    });
}

function registerUnmount(tenants: Command, open: Open, io: Io): void {
  tenants
    .command('unmount')
    .description('Remove a mount. The mounted memory stays as it is.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<name>', 'name of the directory, from `tenants mounts`')
    .addHelpText('after', '\nExample:\n  memory-service tenants unmount builder team')
    .action((tenant: string, name: string) =>
      withDatabase(open, async ({ database }) => {
        const subject = { tenant, details: { name, new: null } };
        const mount = await audited({ database, io }, 'removeMount', subject, () =>
          removeMount(database, tenant, name),
        );
        printLine(io.stdout, `Unmounted tenant ${mount.tenant} from tenant ${tenant}. ${EFFECT}`);
      }),
    );
}

function registerMounts(tenants: Command, open: Open, io: Io): void {
  tenants
    .command('mounts')
    .description("List a tenant's mounts, and where it is mounted.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service tenants mounts builder')
    .action((tenant: string, { json }: { json?: boolean }) =>
      withTenant(open, tenant, async ({ database, tenant: row }) => {
        const mounts = await mountStatuses(database, row);
        const by = await mountedBy(database, tenant, { scope: null, limit: MAX_LISTED });
        if (json) return printJson(io.stdout, { mounts, mountedBy: by.mounts, more: by.more });
        printTable(
          io.stdout,
          ['DIRECTORY', 'TENANT', 'ACCESS', 'STATUS', 'INSTRUCTIONS'],
          mounts.map(({ name, status, instructions, ...mount }) => [
            `/memories/${name}`,
            mount.tenant,
            mount.access,
            status,
            instructions.split('\n', 1)[0] || '-',
          ]),
        );
        if (by.mounts.length === 0) return;
        io.stdout.write('\n');
        printTable(
          io.stdout,
          ['MOUNTED BY', 'AS', 'ACCESS'],
          by.mounts.map((each) => [each.tenant, `/memories/${each.name}`, each.access]),
        );
        if (by.more) io.stderr.write(`Only the first ${MAX_LISTED} are shown.\n`);
      }),
    );
}

function mountName(value: string): string {
  if (isMountName(value)) return value;
  throw new InvalidArgumentError(`--name must be ${MOUNT_NAME_RULE}.`);
}

const instructions = storableText(MAX_INSTRUCTIONS);

function instructionsText(value: string): string {
  if (instructions.safeParse(value).success) return value;
  throw new InvalidArgumentError(`Use at most ${MAX_INSTRUCTIONS} characters.`);
}
