/** What went wrong with a run whose id is used: it has begun, or its failure is recorded. */
export class RunStartedError extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('The run has begun.');
    this.reason = reason;
  }
}
