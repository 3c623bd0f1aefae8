type PostMessage = (message: string) => unknown;

/** The process's response to messages after the job has ended. */
const JOB_ENDED = -1;

let hasEnded = false;

let post: PostMessage = postBeforeConnect;
let wasHostUsed = false;

/**
 * Handles messages before the realm is connected: packages send them while their image (a snapshot) is made. Drops
 * console output and timers. Throws for messages whose response the snapshot would freeze.
 */
function postBeforeConnect(message: string): unknown {
  const code = message[0];
  // Console output. The response 0 would mean that no more output is accepted, and the snapshot would freeze that.
  if (code === 'L') return undefined;
  wasHostUsed = true;
  // Timers.
  if (code === 'T' || code === 'X') return undefined;
  throw new Error('This function is not available while an image is made');
}

/** Returns whether anything but console output was sent before the realm was connected. */
export function wasHostUsedBeforeConnect(): boolean {
  return wasHostUsed;
}

/** Connects this realm (the global environment of user code) to its process; called once, before user code. */
export function connect(postMessage: PostMessage): void {
  post = postMessage;
}

/**
 * Sends one message out of the isolate. Returns the response: a string, a number or undefined. READERS in
 * child/bridge.ts explains the codes with which messages begin.
 *
 * Sends nothing after the job has ended: time outside the isolate does not count against the time limit of the code, so
 * code that sends messages in a loop could otherwise run for longer.
 */
export function send(message: string): unknown {
  if (hasEnded) return undefined;
  const response = post(message);
  if (response === JOB_ENDED) hasEnded = true;
  return response;
}

/** Allows messages again, for the next job of a realm that serves several. */
export function reopen(): void {
  hasEnded = false;
}

/** Returns whether messages still reach the process. */
export const isOpen = (): boolean => !hasEnded;
