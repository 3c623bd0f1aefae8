type Post = (message: string) => unknown;

/** What the process answers once the job has ended. */
const ENDED = -1;

let ended = false;

let post: Post = early;
let isTouched = false;

/** Stands for the process while an image is made, when there is none: nothing that it would give may be kept. */
function early(message: string): unknown {
  const kind = message[0];
  // Console output is lost.
  if (kind === 'L') return 0;
  isTouched = true;
  if (kind === 'T' || kind === 'X') return undefined;
  throw new Error('This is not available while an image is made');
}

/** Whether something was asked of the process before there was one. */
export function wasTouched(): boolean {
  return isTouched;
}

/** Joins this realm to its process; done once, before user code. */
export function connect(to: Post): void {
  post = to;
}

/**
 * Sends one message out of the isolate; the answer is text, a number or nothing. Nothing is sent once the job has ended:
 * time spent outside does not count as the guest's, so a loop of messages could go on for longer than a loop of anything else.
 */
export function send(message: string): unknown {
  if (ended) return undefined;
  const answer = post(message);
  if (answer === ENDED) ended = true;
  return answer;
}

/** Begins with the next job, in a guest that serves several. */
export function reopen(): void {
  ended = false;
}

/** Whether anything is still heard outside. */
export const isHeard = (): boolean => !ended;
