import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { MOST_HEAD_CHARS, readFrame, writeFrame } from '../frames.ts';
import { ByteBuffer } from '../byte-buffer.ts';
import { SYNC_FD } from '../isolation/program.ts';
import type { HostAnswer } from '../protocol.ts';

/** The number of every call whose answer a process waits for: there is one at a time. */
export const WAITED = -1;

const LENGTH_BYTES = 4;
/** Far beyond what the limits of a job let through. */
const MOST_BYTES = 2 ** 27;

/** Of the fields as JSON: what is parsed must not take the host long, whoever wrote it. */
const MOST_FIELD_BYTES = 4 * MOST_HEAD_CHARS;

/** A call that a process waits for. */
export interface Question {
  readonly id: number;
  readonly op: string;
  readonly head: string;
  readonly body: Uint8Array | null;
}

interface QuestionEvents {
  ask(question: Question): void;
  malformed(): void;
}

/** The question in a frame, or null where it is none: a process whose guest broke out may write anything. */
function readQuestion(frame: Buffer): Question | null {
  try {
    const { fields, body } = readFrame<Record<string, unknown> | null>(frame, MOST_FIELD_BYTES);
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return null;
    const { id, op, head } = fields;
    if (typeof id !== 'number' || typeof op !== 'string' || typeof head !== 'string') return null;
    return { id, op, head, body };
  } catch {
    return null;
  }
}

/** The supervisor's end of the pipe by which a process asks and waits. */
export class Questions {
  readonly #pipe: Duplex;
  readonly #events: QuestionEvents;
  readonly #received = new ByteBuffer();

  constructor(pipe: Duplex, events: QuestionEvents) {
    this.#pipe = pipe;
    this.#events = events;
    pipe.on('data', (data: Buffer) => this.#take(data));
    // A process that is gone needs no answer; its end is told elsewhere.
    pipe.on('error', () => undefined);
    (pipe as Duplex & { unref?: () => void }).unref?.();
  }

  answer({ ok, head, body }: HostAnswer): void {
    if (this.#pipe.writable) this.#pipe.write(writeFrame({ ok, head }, body));
  }

  #take(data: Buffer): void {
    this.#received.add(data);
    if (this.#received.length < LENGTH_BYTES) return;
    const length = this.#received.view().readUInt32LE(0);
    if (length > MOST_BYTES) return this.#refuse();
    if (this.#received.length < LENGTH_BYTES + length) return;
    const all = this.#received.take();
    // It waits, so nothing can follow.
    const question = all.length === LENGTH_BYTES + length ? readQuestion(all.subarray(LENGTH_BYTES)) : null;
    if (question === null) this.#refuse();
    else this.#events.ask(question);
  }

  /** What comes after it is not looked at. */
  #refuse(): void {
    this.#pipe.pause();
    this.#events.malformed();
  }
}

/** The questions of a process; null where its program asks none. */
export function questionsOf(child: ChildProcess, events: QuestionEvents): Questions | null {
  const pipe = (child.stdio as readonly unknown[])[SYNC_FD] as Duplex | null | undefined;
  return pipe == null ? null : new Questions(pipe, events);
}
