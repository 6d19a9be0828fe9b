import type { Schema } from './document.ts';

/** Path to the page with the shared schemas, which types link to. */
export type SchemasPage = string;

const schemaVariants = (schema: Schema) => schema.anyOf ?? schema.oneOf ?? [];
const refName = (ref: string) => ref.split('/').at(-1) ?? '';

export function describeType(schema: Schema, page: SchemasPage): string {
  if (schema.$ref !== undefined)
    return `[${refName(schema.$ref)}](${page}#${refName(schema.$ref).toLowerCase()})`;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  const variants = schemaVariants(schema);
  if (variants.length > 0)
    return [...new Set(variants.map((variant) => describeType(variant, page)))].join(' or ');
  if (schema.type === 'array' && schema.items !== undefined)
    return `array of ${describeType(schema.items, page)}`;
  if (schema.additionalProperties instanceof Object)
    return `map to ${describeType(schema.additionalProperties, page)}`;
  return [schema.type ?? 'any'].flat().join(' or ');
}

/**
 * Describes a schema's bounds and default. Bounds beyond the safe integers come from a number format and are omitted.
 */
function describeBounds({ minimum, maximum, maxLength, default: initial }: Schema): string {
  const isMeant = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  const bounds = [
    isMeant(minimum) && `from ${minimum}`,
    isMeant(maximum) && `to ${maximum}`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    initial !== undefined && initial !== '' && `\`${JSON.stringify(initial)}\` unless given`,
  ].filter((bound) => bound !== false);
  return bounds.length === 0 ? '' : ` (${bounds.join(', ')})`;
}

/** Converts Markdown to a single line for a table cell. List items are separated by `<br>`. */
export const escapeForCell = (markdown: string) =>
  markdown
    .replace(/^- /, '')
    .replaceAll(/\s*\n- /g, '<br>')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|');

export function describe(schema: Schema, page: SchemasPage, description = schema.description): string {
  const bounds =
    describeBounds(schema.anyOf?.find(({ type }) => type !== 'null') ?? schema) || describeBounds(schema);
  return `${escapeForCell(describeType(schema, page))}${bounds} | ${escapeForCell(description ?? '')}`;
}

/**
 * Returns the object schema whose fields the reader needs: the schema itself, its items' schema, or its variant besides
 * null.
 */
function objectIn(schema: Schema): [suffix: string, Schema] | undefined {
  if (schema.properties !== undefined) return ['', schema];
  const [suffix, inner] =
    schema.items !== undefined
      ? ['[]', schema.items]
      : ['', schemaVariants(schema).find(({ properties }) => properties)];
  const found = inner && objectIn(inner);
  return found && [`${suffix}${found[0]}`, found[1]];
}

function* rows(schema: Schema, page: SchemasPage, prefix = ''): Generator<string> {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isOptional = schema.required?.includes(name) !== true;
    yield `| \`${prefix}${name}\`${isOptional ? '<br><small>optional</small>' : ''} | ${describe(property, page)} |`;
    const inner = objectIn(property);
    if (inner !== undefined) yield* rows(inner[1], page, `${prefix}${name}${inner[0]}.`);
  }
}

/** Renders a schema as a field table, or as a type if the schema has no fields. */
export function fields(schema: Schema, page: SchemasPage): string {
  const variants = schemaVariants(schema).filter(({ properties }) => properties);
  if (variants.length > 1) return variants.map((variant) => fields(variant, page)).join('\n\nor\n\n');
  const [suffix, object] = objectIn(schema) ?? [];
  if (object === undefined || suffix === undefined)
    return describeType(schema, page).replace(/^array of /, 'An array of ');
  return [
    '| Field | Type | Description |',
    '| --- | --- | --- |',
    ...rows(object, page, suffix === '' ? '' : `${suffix}.`),
  ].join('\n');
}
