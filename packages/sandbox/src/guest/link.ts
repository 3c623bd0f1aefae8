type Post = (message: string) => unknown;

let post: Post = () => undefined;

/** Joins this realm to its process; done once, before user code. */
export function connect(to: Post): void {
  post = to;
}

/** Sends one message out of the isolate; the answer is text, a number or nothing. */
export function send(message: string): unknown {
  return post(message);
}
