/** Milliseconds of processor time that this process has taken so far, its threads among it. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What is wrong, in a line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] as string;
}

/** Answers what the bench asks of this process over its channel, until it is asked to close, or the bench has gone. */
export function serve<Request, Reply extends object | string>(
  answer: (request: Request) => Promise<Reply>,
): void {
  const failed = (error: unknown): void => void process.send?.({ failed: reasonOf(error) });
  process.on('uncaughtException', failed);
  process.on('disconnect', () => process.exit(1));
  process.on('message', (request: Request) => {
    answer(request).then((reply) => {
      process.send?.(reply, () => request === 'close' && process.exit(0));
    }, failed);
  });
}
