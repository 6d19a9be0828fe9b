/** A package as a user installs it: packed, and installed from the archive into a directory outside the repository. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inject } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tsc = join(root, 'node_modules/typescript/bin/tsc');

/** Runs a program. Rejects with its output if it fails. */
export const run = async (
  command: string,
  args: string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv; signal?: AbortSignal },
): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(command, args, options).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${command} ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`);
  });

export interface Packed {
  archive: string;
  /** Archive size in bytes. */
  size: number;
  unpackedSize: number;
  files: string[];
}

/** Packs a workspace as its README describes. */
export async function pack(workspace: string): Promise<Packed> {
  const directory = await mkdtemp(join(inject('scratch'), 'packed-'));
  // `--silent` keeps the `prepack` output out of the JSON.
  const options = ['--pack-destination', directory, '--json', '--silent'];
  const args = ['pack', '--workspace', workspace, ...options];
  const { stdout } = await run('npm', args, { cwd: root });
  const answer = JSON.parse(stdout);
  // npm 12 prints an object by package, and earlier versions print an array.
  const [{ filename, size, unpackedSize, files }] = Array.isArray(answer) ? answer : Object.values(answer);
  return {
    archive: join(directory, filename),
    size,
    unpackedSize,
    files: files.map(({ path }: { path: string }) => path).sort(),
  };
}

/**
 * Creates a project with packages, given as archives, names in the registry, or `npm install` options.
 *
 * @param from `offline` for packages without dependencies, which need no registry
 */
export async function install(
  packages: string[],
  from: 'offline' | 'prefer-offline',
): Promise<{ directory: string; packages: string[] }> {
  const directory = await mkdtemp(join(inject('scratch'), 'project-'));
  await writeFile(join(directory, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  await run('npm', ['install', `--${from}`, '--no-audit', '--no-fund', ...packages], { cwd: directory });
  const listed = await run('npm', ['ls', '--all', '--parseable'], { cwd: directory });
  return { directory, packages: listed.stdout.trim().split('\n').slice(1) };
}

/** Copies a project and adds this repository's agent SDKs. */
export async function withSdks(project: string): Promise<string> {
  const directory = await mkdtemp(join(inject('scratch'), 'agents-'));
  await cp(project, directory, { recursive: true });
  for (const name of ['@anthropic-ai', '@ai-sdk', '@langchain', '@types', 'ai']) {
    await symlink(join(root, 'node_modules', name), join(directory, 'node_modules', name));
  }
  return directory;
}

/** Compiles a project's files under `strict`. Rejects with the errors. */
export async function compile(
  directory: string,
  files: Record<string, string>,
  options: Record<string, unknown>,
): Promise<void> {
  await mkdir(join(directory, 'src'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, 'src', name), text);
  const compilerOptions = {
    target: 'ES2023',
    strict: true,
    exactOptionalPropertyTypes: true,
    types: [],
    rootDir: 'src',
    outDir: 'out',
    ...options,
  };
  await writeFile(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: Object.keys(files).map((name) => `src/${name}`) }),
  );
  await run(process.execPath, [tsc, '-p', directory], { cwd: directory });
}
