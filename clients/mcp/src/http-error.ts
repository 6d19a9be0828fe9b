/** A request that is rejected before MCP handles it. The message is for the caller, and never contains the key. */
export class HttpError extends Error {
  readonly status: number;
  /** Code of the JSON-RPC error. */
  readonly rpcCode: number;

  constructor(status: number, message: string, rpcCode = -32000) {
    super(message);
    this.status = status;
    this.rpcCode = rpcCode;
  }
}
