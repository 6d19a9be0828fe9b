/**
 * `npm run words`: checks every comment, test title, user-visible string, document, and name against docs/writing.md.
 *
 * `ratchet.json` has the number of findings that each directory may still have, from before the rules. The number only
 * falls: the run writes lower numbers by itself, so commit the file with your change.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { checkNames } from './names.ts';
import { describeExcess } from './of.ts';
import {
  allowance,
  type Counts,
  countFindings,
  type Finding,
  findExcess,
  groupDirectory,
  lower,
} from './ratchet.ts';
import { GUIDE, git, lines, pathTo, readSources, readSubjects, readTexts } from './repository.ts';
import { check, RULES, retiredWords, subjectFault } from './rules.ts';
import { startsLower } from './texts.ts';

const RATCHET = 'scripts/words/ratchet.json';
/** Maximum number of findings that the report shows per rule and directory. */
const SHOWN = 20;

function checkTexts(texts: ReturnType<typeof readTexts>): Finding[] {
  const rules = [...RULES, retiredWords(readFileSync(pathTo(GUIDE), 'utf8'))];
  return texts.flatMap(({ file, kind, line, text }) =>
    check(text, { startsLower: startsLower(file, kind), isTestTitle: kind === 'titles' }, rules).map(
      ({ offset, ...hit }) => ({
        file,
        kind,
        line: line + text.slice(0, offset).split('\n').length - 1,
        text: text.slice(offset).replaceAll(/\s+/g, ' ').trim(),
        ...hit,
      }),
    ),
  );
}

/**
 * Prints a group of findings. Files with uncommitted changes come first, because they probably contain the new finding.
 */
function report(group: readonly Finding[], limit: number, changed: ReadonlySet<string>): void {
  const [{ kind, rule, file, advice }] = group as [Finding];
  const first = group.toSorted((a, b) => Number(changed.has(b.file)) - Number(changed.has(a.file)));
  console.error(
    limit === 0
      ? `\n${rule}: ${advice}`
      : `\n${rule}: ${group.length} in the ${kind} of ${groupDirectory(file)}, where at most ${limit} are left to rewrite. ${advice}`,
  );
  for (const { file, line, text, found } of first.slice(0, SHOWN)) {
    const excerpt = text.length > 100 ? `${text.slice(0, 100)}…` : text;
    console.error(`  ${file}:${line}: ${excerpt}${text.startsWith(found) ? '' : ` (${found})`}`);
  }
  if (first.length > SHOWN) console.error(`  … and ${first.length - SHOWN} more`);
}

/** Checks all commit subjects since the guide was added, and returns the number of invalid subjects. */
function checkSubjects(): number {
  const faults = readSubjects().flatMap(({ commit, subject }) => {
    const fault = subjectFault(subject);
    return fault === undefined ? [] : [`commit ${commit}: ${subject}\n  The subject ${fault}.`];
  });
  for (const fault of faults) console.error(fault);
  return faults.length;
}

const texts = readTexts();
const names = readSources().flatMap(({ file, source }) => checkNames(file, source));
const all = [...checkTexts(texts), ...names];
const ratchet: Counts = JSON.parse(readFileSync(pathTo(RATCHET), 'utf8'));
const groups = findExcess(all, ratchet);
const changed = new Set(lines(git('diff', '--name-only', 'HEAD')));
for (const group of groups) report(group, allowance(ratchet, group[0] as Finding), changed);
const tooOften = describeExcess(texts);
for (const fault of tooOften) console.error(`\n${fault}`);
const faults = checkSubjects() + tooOften.length;

const next = JSON.stringify(lower(ratchet, countFindings(all)), undefined, 2);
if (next !== JSON.stringify(ratchet, undefined, 2)) {
  writeFileSync(pathTo(RATCHET), `${next}\n`);
  console.log(`Fewer findings than before: ${RATCHET} has the new counts. Commit it.`);
}
if (groups.length + faults > 0) {
  console.error(`\nSee ${GUIDE} for the rules, with examples.`);
  process.exitCode = 1;
}
