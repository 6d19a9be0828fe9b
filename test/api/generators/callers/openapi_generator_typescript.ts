import { Configuration, MemoryApi } from './index';

const api = new MemoryApi(new Configuration({ basePath: process.argv[2] }));
// This generator has one type for the three kinds of bodies: the block.
const { content } = await api.execute({
  executeRequest: {
    type: 'tool_use',
    id: 'toolu_typescript',
    name: 'memory',
    input: {
      command: 'create',
      path: '/memories/openapi_generator_typescript.txt',
      fileText: 'one\ntwo\n',
    },
  },
});
console.log(content);
