import { customType } from 'drizzle-orm/pg-core';

// Byte order, which for UTF-8 is code point order, regardless of the database collation.
export const key = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
// Contents are never compared. "C" avoids looking up another collation.
export const content = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
