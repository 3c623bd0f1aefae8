/** Returns the CPU time of this process and its threads so far, in milliseconds. */
export function readCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Returns the first line of the message of an error. */
export function firstMessageLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] as string;
}

/** Answers the requests of the benchmark over the IPC channel until the benchmark sends `close` or disconnects. */
export function serve<Request, Reply extends object | string>(
  handle: (request: Request) => Promise<Reply>,
): void {
  const sendFailure = (error: unknown): void =>
    void process.send?.({ errorMessage: firstMessageLine(error) });
  process.on('uncaughtException', sendFailure);
  process.on('disconnect', () => process.exit(1));
  process.on('message', (request: Request) => {
    handle(request).then((reply) => {
      process.send?.(reply, () => request === 'close' && process.exit(0));
    }, sendFailure);
  });
}
