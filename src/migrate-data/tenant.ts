import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { Digest, digestOf, insertRows, readPagesOf } from './rows.ts';
import type { Table } from './table.ts';

/** What was read of the source, by table. */
export interface MovedTenant {
  /** Whether the target had all of it already. */
  wasThere: boolean;
  digests: Map<Table, Digest>;
}

/**
 * Copies a tenant in one transaction, which commits only once the target has the same rows. So a tenant is in the target as a whole or not
 * at all, and an interrupted move goes on with the next one. The source may change meanwhile: what is copied is one moment of it.
 *
 * @throws ServiceError when the target has other rows of the tenant
 */
export function moveTenant(
  source: Database,
  target: Database,
  tables: readonly Table[],
  tenant: string,
  onRows: (rows: number) => void,
): Promise<MovedTenant> {
  return source.transaction(
    (from) =>
      target.transaction(async (to) => {
        const wasThere = await hasRows(to, tables, tenant);
        const digests = new Map<Table, Digest>();
        for (const table of tables) {
          const digest = wasThere
            ? await digestOf(from, table, tenant, onRows)
            : await copyRows(from, to, table, tenant, onRows);
          digests.set(table, digest);
          const copy = await digestOf(to, table, tenant);
          if (copy.sha256 === digest.sha256) continue;
          if (wasThere) throw new ServiceError('target_has_other_data', `tenant ${tenant}`);
          throw new ServiceError('copy_differs', table.name, copy.rows, digest.rows);
        }
        return { wasThere, digests };
      }),
    { snapshot: true },
  );
}

async function hasRows(query: QueryExecutor, tables: readonly Table[], tenant: string): Promise<boolean> {
  for (const table of tables) {
    const { rows } = await query(table.firstPage, { tenant, limit: 1, bytes: 1 });
    if (rows.length > 0) return true;
  }
  return false;
}

async function copyRows(
  from: QueryExecutor,
  to: QueryExecutor,
  table: Table,
  tenant: string,
  onRows: (rows: number) => void,
): Promise<Digest> {
  const digest = new Digest();
  for await (const rows of readPagesOf(from, table, tenant)) {
    digest.add(rows);
    await insertRows(to, table, tenant, rows);
    onRows(rows.length);
  }
  return digest;
}
