import { describe, expect, it } from 'vitest';
import { type CliContext, createProgram } from '../../service/program.ts';
import { hoistGlobalOptions } from './global-options.ts';

const program = createProgram({
  version: '1.2.3',
  io: { stdout: process.stdout, stderr: process.stderr },
} as unknown as CliContext);
const hoisted = (line: string) => hoistGlobalOptions(program, line.split(' ')).join(' ');

describe('hoistGlobalOptions', () => {
  it('moves program options and their values before the command', () => {
    expect(hoisted('tenants list --url https://a')).toBe('--url https://a tenants list');
    expect(hoisted('tenants --profile prod list --json')).toBe('--profile prod tenants list --json');
    expect(hoisted('ls --url=https://a acme --profile=prod')).toBe('--url=https://a --profile=prod ls acme');
    expect(hoisted('--url https://a ls acme')).toBe('--url https://a ls acme');
  });

  it("keeps another option's value in its place even if it looks like a program option", () => {
    const line = 'keys create --admin --label --url';
    expect(hoisted(line)).toBe(line);
  });

  it('keeps arguments after two dashes', () => {
    const line = 'find --all -- --url';
    expect(hoisted(line)).toBe(line);
  });

  it("keeps a command's own option in its place even if a program option has the same name", () => {
    const line = 'restore acme --version 01a20877-6010';
    expect(hoisted(line)).toBe(line);
  });

  it('moves a program option even if its value is missing, so that the parser reports it', () => {
    expect(hoisted('ls acme --url')).toBe('--url ls acme');
  });
});
