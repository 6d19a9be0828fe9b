import { execute } from './client';
import { createClient } from './client/client';

const client = createClient({ baseUrl: process.argv[2] });
const { data, error } = await execute({
  client,
  body: { command: 'create', path: '/memories/hey_api.txt', file_text: 'one\ntwo\n' },
});
if (!data) throw new Error(JSON.stringify(error));
if (Array.isArray(data)) throw new Error('one result was expected');
console.log(data.content);
