type Post = (message: string) => unknown;

/** The process's answer to messages after the job has ended. */
const ENDED = -1;

let hasEnded = false;

let post: Post = beforeConnect;
let isUsed = false;

/** Replaces the process while an image is made. Refuses everything whose answer a snapshot would freeze. */
function beforeConnect(message: string): unknown {
  const kind = message[0];
  // Console output is dropped.
  if (kind === 'L') return 0;
  isUsed = true;
  if (kind === 'T' || kind === 'X') return undefined;
  throw new Error('This is not available while an image is made');
}

/** Returns whether the process was used before it was connected. */
export function wasUsedEarly(): boolean {
  return isUsed;
}

/** Connects this realm to its process; called once, before user code. */
export function connect(target: Post): void {
  post = target;
}

/**
 * Sends one message out of the isolate. Returns a string, a number or undefined. Sends nothing after the job has ended:
 * time outside does not count against the guest's budget, so a loop of messages could otherwise exceed it.
 */
export function send(message: string): unknown {
  if (hasEnded) return undefined;
  const answer = post(message);
  if (answer === ENDED) hasEnded = true;
  return answer;
}

/** Starts the next job in a guest that serves several. */
export function reopen(): void {
  hasEnded = false;
}

/** Returns whether messages still reach the process. */
export const isOpen = (): boolean => !hasEnded;
