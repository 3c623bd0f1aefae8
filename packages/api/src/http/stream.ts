const encoder = new TextEncoder();

/** Headers of server-sent events. */
export const EVENT_STREAM = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  'X-Accel-Buffering': 'no',
};

/** A body that `fill` writes, until it is done or nobody reads any more: then `abandon` is called. */
export function streamOf(
  abandon: () => void,
  fill: (write: (text: string) => void) => Promise<void>,
): ReadableStream<Uint8Array> {
  let open = true;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (text: string): void => {
        if (open) controller.enqueue(encoder.encode(text));
      };
      // `fill` reports its own faults.
      void fill(write).finally(() => {
        if (open) controller.close();
        open = false;
      });
    },
    cancel() {
      open = false;
      abandon();
    },
  });
}
