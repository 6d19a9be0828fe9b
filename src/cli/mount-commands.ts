import { type Command, InvalidArgumentError, Option } from 'commander';
import { listMounts, removeTenantMount, setTenantMount } from '../admin/routes/mounts.ts';
import type { Mount } from '../memory/mount.ts';
import { isNewMountName, MAX_INSTRUCTIONS, MOUNT_NAME_RULE } from '../tenants/mount-schema.ts';
import { storableText } from '../util/storable-text.ts';
import { tenantId } from './arguments.ts';
import { type Connect, withCaller } from './caller.ts';
import type { Io } from './io.ts';
import { printJson, printLine, printTable } from './output.ts';

const EFFECT = 'It takes effect within AUTH_CACHE_SECONDS.';

interface MountCommandOptions extends Pick<Mount, 'access' | 'instructions'> {
  name?: string;
}

/** `tenants mount|unmount|mounts`. */
export function registerMountCommands(tenants: Command, connect: Connect, io: Io): void {
  registerMount(tenants, connect, io);
  registerUnmount(tenants, connect, io);
  registerMounts(tenants, connect, io);
}

function registerMount(tenants: Command, connect: Connect, io: Io): void {
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
      if (!isNewMountName(name))
        command.error(`error: the ID ${mounted} cannot be the directory's name; choose one with --name`);
      return withCaller(connect, async (caller) => {
        const body = { tenant: mounted, access, instructions };
        await caller.call(setTenantMount, { params: { tenant, name }, body });
        printLine(io.stdout, `Mounted tenant ${mounted} as /memories/${name} of tenant ${tenant}. ${EFFECT}`);
      });
    });
}

function registerUnmount(tenants: Command, connect: Connect, io: Io): void {
  tenants
    .command('unmount')
    .description('Remove a mount. The mounted memory stays as it is.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<name>', 'name of the directory, from `tenants mounts`')
    .addHelpText('after', '\nExample:\n  memory-service tenants unmount builder team')
    .action((tenant: string, name: string) =>
      withCaller(connect, async (caller) => {
        const mount = await caller.call(removeTenantMount, { params: { tenant, name } });
        printLine(io.stdout, `Unmounted tenant ${mount.tenant} from tenant ${tenant}. ${EFFECT}`);
      }),
    );
}

function registerMounts(tenants: Command, connect: Connect, io: Io): void {
  tenants
    .command('mounts')
    .description("List a tenant's mounts, and where it is mounted.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service tenants mounts builder')
    .action((tenant: string, { json }: { json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const listed = await caller.call(listMounts, { params: { tenant } });
        if (json) return printJson(io.stdout, listed);
        const { mounts, mounted_by: by, more } = listed;
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
        if (by.length === 0) return;
        io.stdout.write('\n');
        printTable(
          io.stdout,
          ['MOUNTED BY', 'AS', 'ACCESS'],
          by.map((each) => [each.tenant, `/memories/${each.name}`, each.access]),
        );
        if (more) io.stderr.write(`Only the first ${by.length} are shown.\n`);
      }),
    );
}

function mountName(value: string): string {
  if (isNewMountName(value)) return value;
  throw new InvalidArgumentError(`--name must be ${MOUNT_NAME_RULE}.`);
}

const instructions = storableText(MAX_INSTRUCTIONS);

function instructionsText(value: string): string {
  if (instructions.safeParse(value).success) return value;
  throw new InvalidArgumentError(`Use at most ${MAX_INSTRUCTIONS} characters.`);
}
