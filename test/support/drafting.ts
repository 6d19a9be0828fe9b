import { afterAll } from 'vitest';
import { type Config, loadConfig } from '../../src/core/config.ts';
import { MergeThreads } from '../../src/core/history/line-merge.ts';
import type { Resolution } from '../../src/core/history/merge-file.ts';
import { sideChange, type ThreeWay } from '../../src/core/history/three-way.ts';
import type { Actor } from '../../src/core/memory/origin.ts';
import { type Comparison, compareDraft } from '../../src/features/drafts/compare.ts';
import { createDraft } from '../../src/features/drafts/create-draft.ts';
import type { Draft } from '../../src/features/drafts/drafts.ts';
import { mergeDraft, replaceByDraft } from '../../src/features/drafts/merge.ts';
import { isTouched } from '../../src/features/drafts/pair-files.ts';
import { reviewPath } from '../../src/features/drafts/review.ts';
import type { Service } from './test-service.ts';

export const AUTHOR: Actor = { type: 'operator', name: 'ada' };
export const APPROVER: Actor = { type: 'operator', name: 'grace' };

/** Works with drafts in a service's tenants as the admin API does. */
export class Drafting {
  readonly service: () => Service;
  readonly threads = new MergeThreads();
  readonly config: Config;

  constructor(service: () => Service, env: Record<string, string> = {}) {
    this.service = service;
    this.config = loadConfig({ AUTH: 'none', ...env });
    afterAll(() => this.threads.close());
  }

  create(tenant: string, given: { at?: string; title?: string; author?: Actor } = {}): Promise<Draft> {
    return createDraft(this.service().database, this.config, tenant, {
      title: 'tidy',
      author: AUTHOR,
      ...given,
    });
  }

  compare({ tenant, id }: Draft): Promise<Comparison> {
    return compareDraft(this.service().database, this.threads, { tenant, draft: id });
  }

  /** @param byName resolutions by file name, by default the path */
  async merge(
    draft: Draft,
    byName: Record<string, Resolution> = {},
    given: { review?: string; approver?: Actor; describeFile?: (file: ThreeWay) => string } = {},
  ) {
    const { describeFile = reviewPath } = given;
    const compared = await this.compare(draft);
    const ids = new Map(compared.files.filter(isTouched).map((file) => [describeFile(file), file.id]));
    const resolutions = new Map(Object.entries(byName).map(([path, each]) => [ids.get(path) ?? path, each]));
    const { tenant, id } = draft;
    return mergeDraft(this.service().database, { tenant, draft: id }, resolutions, {
      config: this.config,
      threads: this.threads,
      approver: given.approver ?? APPROVER,
      review: given.review ?? compared.review,
    });
  }

  async replace(draft: Draft, given: { review?: string } = {}) {
    const review = given.review ?? (await this.compare(draft)).review;
    const { tenant, id } = draft;
    return replaceByDraft(
      this.service().database,
      { tenant, draft: id },
      {
        config: this.config,
        threads: this.threads,
        approver: APPROVER,
        review,
      },
    );
  }
}

/**
 * Formats the changed files in a comparison with their blockers: `/memories/b: moved | changed: path [/memories/c]`.
 */
export function changesIn({ files, same, plan }: Comparison): string[] {
  return files
    .flatMap((file) => {
      const draft = sideChange(file.base, file.draft, same);
      const original = sideChange(file.base, file.original, same);
      if (draft === null && original === null) return [];
      const conflict = plan.conflicts.get(file.id);
      const blockedBy = plan.blockedBy.get(file.id);
      const others = blockedBy?.files.map(({ original: there }) => there?.path).join(' ');
      const end = `${conflict ? `: ${conflict}` : ''}${blockedBy ? ` [${others || `${blockedBy.path}/`}]` : ''}`;
      return [`${reviewPath(file)}: ${draft ?? '-'} | ${original ?? '-'}${end}`];
    })
    .sort();
}
