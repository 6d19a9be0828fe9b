import type pg from 'pg';

interface Column {
  name: string;
  dataTypeID: number;
}

/** Connection from pg, whose types lack the messages in the extended protocol. */
interface Protocol {
  parse(query: { name: string; text: string }): void;
  describe(target: { type: 'S'; name: string }): void;
  sync(): void;
}

/** Describes a statement without executing it. */
class Description {
  readonly #sql: string;
  readonly #resolve: (columns: Column[]) => void;
  readonly #reject: (error: Error) => void;
  #columns: Column[] = [];

  constructor(sql: string, resolve: (columns: Column[]) => void, reject: (error: Error) => void) {
    this.#sql = sql;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: Protocol): void {
    connection.parse({ name: '', text: this.#sql });
    connection.describe({ type: 'S', name: '' });
    connection.sync();
  }
  handleRowDescription({ fields }: { fields: Column[] }): void {
    this.#columns = fields;
  }
  handleError(error: Error): void {
    this.#reject(error);
  }
  handleReadyForQuery(): void {
    this.#resolve(this.#columns);
  }
}

/** Returns the names and type IDs for a statement's result columns. */
export function resultColumns(client: pg.Client, sql: string): Promise<Column[]> {
  return new Promise((resolve, reject) => {
    client.query(new Description(sql, resolve, reject) as unknown as pg.Submittable);
  });
}
