import createClient from 'openapi-fetch';
import type { paths } from './schema.d.ts';

const client = createClient<paths>({ baseUrl: process.argv[2] });
const { data, error } = await client.POST('/execute', {
  body: { command: 'create', path: '/memories/openapi_typescript.txt', file_text: 'one\ntwo\n' },
});
if (error) throw new Error(`${error.code}: ${error.detail}`);
// The response is a string for `Accept: text/plain` and an array for several blocks.
if (typeof data === 'string' || Array.isArray(data)) throw new Error('one result was expected');
console.log(data.content);
