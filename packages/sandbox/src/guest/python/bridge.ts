import { slice } from '../primordials.ts';
import { send } from '../channel.ts';

/** What Python gets of this realm: functions that take and give text. */
export interface Bridge {
  /** Writes a line of output; false once no more is taken. */
  print(line: string): boolean;
  /** Asks the host and waits: `+` or `-`, the head's length, a colon, head and body. */
  ask(op: string, head: string, body: string | null | undefined): string;
  sleep(ms: number): void;
  succeed(json: string): void;
  fail(json: string): void;
  /** The interpreter is not to be used again: something of the job is still in it. */
  taint(): void;
}

/** Sends what cannot be answered later: the answer is there when it returns. */
function request(message: string): string {
  const answer = send(message);
  if (typeof answer !== 'string') throw new Error('The job is over');
  return answer;
}

export const bridge: Bridge = {
  print: (line) => send('L' + line) !== 0,
  ask: (op, head, body) =>
    request('S' + op + ':' + (body == null ? '-' : '+') + head.length + ':' + head + (body ?? '')),
  sleep: (ms) => void request('Z' + Math.ceil(ms * 1_000) / 1_000),
  succeed: (json) => void send('D' + json),
  fail: (json) => void send('E' + json),
  taint: () => void send('Q'),
};

const ASK = /^([+-])(\d+):/;

/** The parts of an answer to `ask`. */
export function readAnswer(answer: string): { ok: boolean; head: string; body: string } {
  const match = ASK.exec(answer);
  if (match === null) throw new Error('The host gave no answer');
  const start = match[0].length;
  const end = start + Number(match[2]);
  return { ok: match[1] === '+', head: slice(answer, start, end), body: slice(answer, end) };
}
