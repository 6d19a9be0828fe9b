/** Rules from docs/writing.md for names in code. */
import { parseSync, Visitor } from 'rolldown/utils';
import { lineAt } from './paragraphs.ts';
import type { Finding } from './ratchet.ts';
import { isChecked } from './texts.ts';

interface Name {
  name: string;
  /** Whether the file declares a function or a method with this name. */
  isFunction: boolean;
}

interface NameRule {
  rule: string;
  advice: string;
  breaks(name: Name): boolean;
}

const RETIRED = /^(refus(e|es|ed|ing|als?)|settl(e|es|ed|ing|ements?)|moments?|folders?|overtaken)$/;
/** Names from JavaScript and from packages that would break a rule. */
const BUILT_IN = /^(allSettled|Folder|FolderInput|PromiseSettledResult|indexOf|lastIndexOf|valueOf)$/;
const PARTICIPLE =
  /^([a-z]+[^e\W]ed|agreed|built|chosen|cut|drawn|found|given|held|hidden|kept|known|made|sent|shown|spelled|split|taken|written)$/;
/** Verbs that look like participles. */
const VERB = /^(embed|shred)$/;

export const NAME_RULES: readonly NameRule[] = [
  {
    rule: 'retired',
    advice: 'Use the word of the glossary in docs/writing.md: reject, resolve, time, directory, stale.',
    breaks: ({ name }) => splitName(name).some((word) => RETIRED.test(word)),
  },
  {
    rule: 'getter',
    advice:
      'Name a getter with a noun, `content(file)`, and a function that acts with a verb, `measureText(text)`.',
    breaks: ({ name, isFunction }) =>
      isFunction && (/[a-z\d]Of$/.test(name) || (PARTICIPLE.test(name) && !VERB.test(name))),
  },
];

/** Splits an identifier into words in lower case: `isHTTPFolder` has the words `is`, `http`, and `folder`. */
const splitName = (name: string) =>
  name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).map((word) => word.toLowerCase());

/** Checks the distinct names in a TypeScript or JavaScript file. A finding has the name's first line. */
export function checkNames(file: string, source: string): Finding[] {
  if (!isChecked(file) || !/\.[cm]?[jt]sx?$/.test(file)) return [];
  return [...findNames(file, source)].flatMap(([name, { start, isFunction }]) =>
    NAME_RULES.filter((rule) => !BUILT_IN.test(name) && rule.breaks({ name, isFunction })).map(
      ({ rule, advice }) => ({
        file,
        line: lineAt(source, start),
        kind: 'names' as const,
        rule,
        text: name,
        found: name,
        advice,
      }),
    ),
  );
}

interface Node {
  type: string;
  /** An identifier's name. */
  name?: unknown;
  start: number;
}

function findNames(file: string, source: string): Map<string, { start: number; isFunction: boolean }> {
  const names = new Map<string, { start: number; isFunction: boolean }>();
  const add = (node: Node | null, isFunction = false) => {
    if (typeof node?.name !== 'string') return;
    const known = names.get(node.name);
    names.set(node.name, {
      start: known?.start ?? node.start,
      isFunction: isFunction || known?.isFunction === true,
    });
  };
  const addFunction = (node: Node | null) => add(node, true);
  const addIfFunction = (key: Node, value: Node | null) =>
    add(key, value !== null && /FunctionExpression$/.test(value.type));
  new Visitor({
    Identifier: (node) => add(node),
    PrivateIdentifier: (node) => add(node),
    FunctionDeclaration: ({ id }) => addFunction(id),
    MethodDefinition: ({ key }) => addFunction(key),
    TSMethodSignature: ({ key }) => addFunction(key),
    VariableDeclarator: ({ id, init }) => addIfFunction(id, init),
    PropertyDefinition: ({ key, value }) => addIfFunction(key, value),
    Property: ({ key, value }) => addIfFunction(key, value),
  }).visit(parseSync(file, source).program);
  return names;
}
