/** How often a tenant was used: by calls that read, by calls that write, and by requests and calls that were refused. */
export type Uses = {
  reads: number;
  writes: number;
  refused: number;
};
