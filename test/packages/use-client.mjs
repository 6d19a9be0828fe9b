/** Runs where only memory-service-client is installed. */
import { MemoryClient } from 'memory-service-client';

const memory = new MemoryClient({ url: process.env.MEMORY_SERVICE_URL });
const path = '/memories/client.md';
console.log((await memory.execute({ command: 'create', path, file_text: 'Lives in Lyon.' })).content);
console.log((await memory.execute({ command: 'view', path })).content);
