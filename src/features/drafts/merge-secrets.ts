import type { QueryExecutor } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { pauseAfterSlice, timeSliced } from '../../core/lib/time-slice.ts';
import { listKinds } from '../../core/memory/commands/memory-command.ts';
import { mask, type Redaction, type Secret } from '../../core/memory/secrets/secrets.ts';
import { type DraftIds, draftContents, readTexts } from './contents.ts';
import type { MergePlan, PlannedChange } from './merge-plan.ts';

/** Applies a tenant's policy on secrets to the texts that a merge writes. Scans each version or text only once. */
export class MergeSecrets {
  readonly #ids: DraftIds;
  /** Detected secrets, by version ID or by the text itself. */
  readonly #found = new Map<string, Secret[]>();
  #mode: Redaction['mode'] | undefined;

  constructor(ids: DraftIds) {
    this.#ids = ids;
  }

  /** Scans in advance the texts that a plan writes, so that `apply` finishes quickly while writers wait. */
  async scan(
    query: QueryExecutor,
    redaction: Redaction,
    { changes }: Pick<MergePlan, 'changes'>,
  ): Promise<void> {
    // The findings depend on whether secrets are scanned.
    if (this.#mode !== undefined && this.#mode !== redaction.mode) this.#found.clear();
    this.#mode = redaction.mode;
    for (const { outcome } of changes) {
      if (isText(outcome)) await this.#scanText(redaction, outcome.content.text, outcome.content.text);
    }
    const unknown = changes.filter((change) => {
      const version = draftVersionId(change);
      return version !== undefined && !this.#found.has(version);
    });
    const weigh = ({ file }: PlannedChange) => file.draft?.sizeBytes ?? 0;
    for await (const batch of draftContents(query, this.#ids.draft, unknown, weigh)) {
      for (const [version, content] of batch.contents) await this.#scanText(redaction, version, content);
    }
  }

  /**
   * Masks the secrets that a plan would add to the memory.
   *
   * @throws ServiceError if the tenant rejects secrets and the plan adds some, or a new path contains a secret
   */
  async apply(query: QueryExecutor, redaction: Redaction | undefined, plan: MergePlan): Promise<MergePlan> {
    if (redaction === undefined) return plan;
    await this.scan(query, redaction, plan);
    await this.#rejectPaths(redaction, plan);
    const suspects = plan.changes.filter((change) => this.#foundSecrets(change).length > 0);
    if (suspects.length === 0) return plan;
    const masked = new Map<PlannedChange, PlannedChange>();
    const paths: string[] = [];
    const kinds = new Set<string>();
    for (const change of suspects) {
      const { file, outcome } = change;
      const texts = (await readTexts(query, this.#ids, [file])).get(file.id);
      const text = isText(outcome) ? outcome.content.text : (texts?.draft ?? '');
      const original = texts?.original ?? '';
      const added: Secret[] = [];
      for await (const secret of timeSliced(this.#foundSecrets(change)))
        if (!original.includes(text.slice(secret.start, secret.end))) added.push(secret);
      if (outcome === null || added.length === 0) continue;
      paths.push(outcome.path);
      for (const kind of listKinds(added)) kinds.add(kind);
      masked.set(change, { file, outcome: { ...outcome, content: { text: mask(text, added) } } });
    }
    if (redaction.mode === 'reject' && paths.length > 0)
      throw new ServiceError('draft_has_secrets', paths.sort(), [...kinds].sort());
    return { ...plan, changes: plan.changes.map((change) => masked.get(change) ?? change) };
  }

  /** Rejects secrets in paths under both policies, because masking would change the path. */
  async #rejectPaths(redaction: Redaction, { changes, made }: MergePlan): Promise<void> {
    const moved = changes.flatMap(({ file, outcome }) =>
      outcome === null || outcome.path === file.original?.path ? [] : [outcome.path],
    );
    for (const path of [...moved, ...made]) {
      const secrets = await this.#scanText(redaction, path, path);
      if (secrets.length > 0) throw new ServiceError('secret_in_path', listKinds(secrets));
    }
  }

  #foundSecrets(change: PlannedChange): Secret[] {
    const { outcome } = change;
    const key = isText(outcome) ? outcome.content.text : draftVersionId(change);
    return (key === undefined ? undefined : this.#found.get(key)) ?? [];
  }

  async #scanText({ scanner }: Redaction, key: string, text: string): Promise<Secret[]> {
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const secrets = await scanner.scan(text);
    this.#found.set(key, secrets);
    await pauseAfterSlice();
    return secrets;
  }
}

function isText(
  outcome: PlannedChange['outcome'],
): outcome is { path: NonNullable<PlannedChange['outcome']>['path']; content: { text: string } } {
  return outcome !== null && typeof outcome.content === 'object';
}

/** Returns the version whose content a change copies from the draft. */
function draftVersionId({ file, outcome }: PlannedChange): string | undefined {
  return outcome?.content === 'draft' ? file.draft?.versionId : undefined;
}
