/** The parts of an OpenAPI document that the site shows. */
export interface Document {
  info: { title: string; version: string; description: string };
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>> & { schemas: Record<string, Schema> };
}

export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  parameters?: (Parameter | Ref)[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response | Ref>;
}

export interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

export interface Response {
  description: string;
  content?: Record<string, Media>;
}

export interface Media {
  schema: Schema;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface Ref {
  $ref: string;
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** Returns the component that a reference names, or the value itself if it is no reference. */
export function resolve<T>(document: Document, value: T | Ref): T {
  if (!(value instanceof Object && '$ref' in value && typeof value.$ref === 'string')) return value as T;
  const [, , kind = '', name = ''] = value.$ref.split('/');
  const found = document.components[kind]?.[name];
  if (found === undefined) throw new Error(`${document.info.title} has no ${value.$ref}.`);
  return found as T;
}
