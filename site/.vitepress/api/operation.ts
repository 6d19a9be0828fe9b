import { type Document, type Media, type Operation, type Response, resolve } from './document.ts';
import { describe, escapeForCell, fields, type SchemasPage } from './schema.ts';

const PLACES: Record<string, string> = { path: 'in the path', query: 'query', header: 'header' };

/** Renders an operation as a page section. */
export function operationSection(
  document: Document,
  method: string,
  path: string,
  operation: Operation,
  page: SchemasPage,
): string {
  const parts = [
    `## ${operation.summary} {#${operation.operationId}}`,
    `\`\`\`http\n${method.toUpperCase()} ${path}\n\`\`\``,
  ];
  if (operation.description !== undefined) parts.push(operation.description);
  parts.push(...parameters(document, operation, page));
  for (const [type, media] of Object.entries(operation.requestBody?.content ?? {})) {
    parts.push(`### Request: \`${type}\` {#${operation.operationId}-request}`, ...body(media, page));
  }
  parts.push(...responses(document, operation, page));
  return parts.join('\n\n');
}

function parameters(
  document: Document,
  { operationId, parameters = [] }: Operation,
  page: SchemasPage,
): string[] {
  if (parameters.length === 0) return [];
  const rows = parameters.map((each) => {
    const { name, in: place, required, schema, description } = resolve(document, each);
    const note = `${PLACES[place] ?? place}${required ? '' : ', optional'}`;
    return `| \`${name}\`<br><small>${note}</small> | ${describe(schema, page, description)} |`;
  });
  return [
    `### Parameters {#${operationId}-parameters}`,
    ['| Name | Type | Description |', '| --- | --- | --- |', ...rows].join('\n'),
  ];
}

function responses(
  document: Document,
  { operationId, responses: all }: Operation,
  page: SchemasPage,
): string[] {
  const entries = Object.entries(all).map(
    ([status, each]) => [status, resolve<Response>(document, each)] as const,
  );
  const parts: string[] = [];
  for (const [status, { description, content = {} }] of entries.filter(([status]) => status < '400')) {
    parts.push(`### Response: ${status} {#${operationId}-${status}}`, description);
    for (const [type, media] of Object.entries(content)) parts.push(`\`${type}\`:`, ...body(media, page));
  }
  const errors = entries.filter(([status]) => status >= '400');
  if (errors.length === 0) return parts;
  const rows = errors.map(([status, { description }]) => `| ${status} | ${escapeForCell(description)} |`);
  return [
    ...parts,
    `### Errors {#${operationId}-errors}`,
    ['| Status | Error |', '| --- | --- |', ...rows].join('\n'),
  ];
}

function body({ schema, examples = {} }: Media, page: SchemasPage): string[] {
  const shown = Object.entries(examples).map(([name, { summary, value }]) => {
    const code =
      typeof value === 'string'
        ? `\`\`\`text\n${value}\n\`\`\``
        : `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
    return `::: details Example: ${summary ?? name.replaceAll('_', ' ')}\n${code}\n:::`;
  });
  return [fields(schema, page), ...shown];
}
