import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { releaseVersions } from '../../scripts/release-versions.ts';
import { version } from '../../src/core/lib/service-version.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

describe('a release', () => {
  it('uses the same version in each package, each document, and the changelog', () => {
    const versions = releaseVersions();
    expect(Object.keys(versions)).toEqual(
      expect.arrayContaining(['package.json', 'openapi.yaml', 'CHANGELOG.md', 'clients/mcp/package.json']),
    );
    for (const [place, has] of Object.entries(versions)) expect(has, place).toBe(version);
  });

  it('publishes a release only after all tests have passed for the tag', () => {
    const { on, jobs } = parse(read('.github/workflows/release.yml'));
    expect(on).toStrictEqual({ push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } });
    expect(Object.keys(jobs)).toStrictEqual([
      'check',
      'fixture',
      'image',
      'chart',
      'npm',
      'pypi',
      'site',
      'github-release',
    ]);
    for (const [name, { needs = [] }] of Object.entries<{ needs?: string | string[] }>(jobs)) {
      if (name !== 'check') expect([needs].flat(), name).toContain('check');
    }
  });

  it('pins every GitHub action in the workflows to a commit', () => {
    for (const name of ['audit', 'ci', 'release']) {
      const uses = [...read(`.github/workflows/${name}.yml`).matchAll(/uses: (\S+)( # v\d+\.\d+\.\d+)?/g)];
      expect(uses.length).toBeGreaterThan(0);
      for (const [line, action, comment] of uses) {
        expect(action, line).toMatch(/@[0-9a-f]{40}$/);
        expect(comment, line).toBeDefined();
      }
    }
  });
});
