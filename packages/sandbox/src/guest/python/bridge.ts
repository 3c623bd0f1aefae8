import { slice } from '../primordials.ts';
import { send } from '../channel.ts';

/** The functions of this realm that Python can call. They take and return only primitive values. */
export interface Bridge {
  /** Writes a line of output. Returns false once the process accepts no more output. */
  print(line: string): boolean;
  /** Calls the host and blocks. Returns its answer as text, see `readAnswer`. */
  call(op: string, head: string, body: string | null | undefined): string;
  sleep(ms: number): void;
  succeed(json: string): void;
  fail(json: string): void;
  /** Excludes the interpreter from later use, because something of the job remains in it. */
  taint(): void;
}

/** Sends a message and returns the response. Throws if the job has ended. */
function request(message: string): string {
  const response = send(message);
  if (typeof response !== 'string') throw new Error('The job has ended');
  return response;
}

export const bridge: Bridge = {
  print: (line) => send('L' + line) !== 0,
  call: (op, head, body) =>
    request('S' + op + ':' + (body == null ? '-' : '+') + head.length + ':' + head + (body ?? '')),
  sleep: (ms) => void request('Z' + Math.ceil(ms * 1_000) / 1_000),
  succeed: (json) => void send('D' + json),
  fail: (json) => void send('E' + json),
  taint: () => void send('Q'),
};

const ANSWER = /^([+-])(\d+):/;

/** Reads an answer of `call`: `+` or `-` for an error, the length of the head, a colon, head and body. */
export function readAnswer(answer: string): { ok: boolean; head: string; body: string } {
  const match = ANSWER.exec(answer);
  if (match === null) throw new Error('The host sent no answer');
  const start = match[0].length;
  const end = start + Number(match[2]);
  return { ok: match[1] === '+', head: slice(answer, start, end), body: slice(answer, end) };
}
