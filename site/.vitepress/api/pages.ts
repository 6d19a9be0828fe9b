/**
 * The API reference as Markdown, generated from an OpenAPI document. The site search covers it, and no script is needed
 * to read it.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'yaml';
import type { Document } from './document.ts';
import { operationSection } from './operation.ts';
import { fields } from './schema.ts';

interface Reference {
  title: string;
  /** Path to the page that lists the operations. */
  link: string;
  pages: { title: string; link: string; markdown: string }[];
}

/** @param base path for the reference on the site */
export function apiReference(file: string, base: string): Reference {
  const document: Document = parse(readFileSync(file, 'utf8'));
  const { title, description } = document.info;
  const schemas = `${base}/schemas`;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.operationId)
      .map(([method, operation]) => ({ method, path, operation })),
  );

  const sections = document.tags.map((tag) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(tag.name));
    const heading = `${tag.name[0]?.toUpperCase()}${tag.name.slice(1)}`;
    const texts = own.map(({ method, path, operation }) =>
      operationSection(document, method, path, operation, schemas),
    );
    return {
      own,
      title: heading,
      link: `${base}/${tag.name.replaceAll(' ', '-')}`,
      // The outline lists only operations, because their subsections would be too many.
      markdown: ['---\noutline: 2\n---', `# ${heading}`, tag.description ?? '', ...texts].join('\n\n'),
    };
  });

  const download = `For your tools: [${basename(file)}](/${basename(file)}) (OpenAPI 3.1).`;
  const list = sections.flatMap(({ title, link, own }) => [
    `## ${title}`,
    [
      '| Operation | Request |',
      '| --- | --- |',
      ...own.map(
        ({ method, path, operation }) =>
          `| [${operation.summary}](${link}#${operation.operationId}) | \`${method.toUpperCase()} ${path}\` |`,
      ),
    ].join('\n'),
  ]);
  const shared = Object.entries(document.components.schemas).map(([name, schema]) =>
    [`## ${name} {#${name.toLowerCase()}}`, schema.description ?? '', fields(schema, schemas)].join('\n\n'),
  );
  return {
    title,
    link: `${base}/`,
    pages: [
      {
        title,
        link: `${base}/index`,
        markdown: [`# ${title}`, description, download, ...list].join('\n\n'),
      },
      ...sections,
      { title: 'Schemas', link: schemas, markdown: ['# Schemas', ...shared].join('\n\n') },
    ],
  };
}
