import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { MAX_HEAD_CHARS, decodeFrame, encodeFrame } from '../frames.ts';
import { ByteBuffer } from '../byte-buffer.ts';
import { SYNC_FD } from '../isolation/program.ts';
import type { HostResponse } from '../protocol.ts';

/** Call number of synchronous calls: a process makes one at a time. */
export const SYNC_CALL = -1;

const LENGTH_PREFIX_BYTES = 4;
/** Maximum size of a call; the limits of a job allow less. */
const MAX_CALL_BYTES = 2 ** 27;

/** Maximum size of the fields as JSON, so that parsing them never blocks the host for long. */
const MAX_FIELD_BYTES = 4 * MAX_HEAD_CHARS;

/** A host call that blocks the process until its answer. */
export interface SyncCall {
  readonly id: number;
  readonly op: string;
  /** The arguments, as JSON. */
  readonly head: string;
  readonly body: Uint8Array | null;
}

interface SyncCallEvents {
  onCall(call: SyncCall): void;
  /** The process sent something that is not a call. */
  onMalformedCall(): void;
}

/** Returns the call in a frame, or undefined if it is malformed. A compromised process may write anything. */
function readSyncCall(frame: Buffer): SyncCall | undefined {
  try {
    const { fields, body } = decodeFrame<Record<string, unknown> | null>(frame, MAX_FIELD_BYTES);
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
    const { id, op, head } = fields;
    if (typeof id !== 'number' || typeof op !== 'string' || typeof head !== 'string') return undefined;
    return { id, op, head, body };
  } catch {
    return undefined;
  }
}

/** The supervisor's end of the pipe for synchronous calls. */
export class SyncCallPipe {
  readonly #pipe: Duplex;
  readonly #events: SyncCallEvents;
  readonly #receivedBytes = new ByteBuffer();

  constructor(pipe: Duplex, events: SyncCallEvents) {
    this.#pipe = pipe;
    this.#events = events;
    pipe.on('data', (data: Buffer) => this.#receive(data));
    // An ended process needs no answer; its exit is handled by the PoolWorker.
    pipe.on('error', () => undefined);
    (pipe as Duplex & { unref?: () => void }).unref?.();
  }

  answer({ ok, head, body }: HostResponse): void {
    if (this.#pipe.writable) this.#pipe.write(encodeFrame({ ok, head }, body));
  }

  #receive(data: Buffer): void {
    this.#receivedBytes.add(data);
    if (this.#receivedBytes.length < LENGTH_PREFIX_BYTES) return;
    const length = this.#receivedBytes.view().readUInt32LE(0);
    if (length > MAX_CALL_BYTES) return this.#refuse();
    if (this.#receivedBytes.length < LENGTH_PREFIX_BYTES + length) return;
    const frame = this.#receivedBytes.take();
    // The process blocks, so nothing can follow its call.
    const isOneCall = frame.length === LENGTH_PREFIX_BYTES + length;
    const call = isOneCall ? readSyncCall(frame.subarray(LENGTH_PREFIX_BYTES)) : undefined;
    if (call === undefined) this.#refuse();
    else this.#events.onCall(call);
  }

  /** Stops reading: everything after an invalid call is ignored. */
  #refuse(): void {
    this.#pipe.pause();
    this.#events.onMalformedCall();
  }
}

/** Returns the pipe of a process's synchronous calls; undefined if its program makes none. */
export function openSyncCallPipe(child: ChildProcess, events: SyncCallEvents): SyncCallPipe | undefined {
  const pipe = (child.stdio as readonly unknown[])[SYNC_FD] as Duplex | null | undefined;
  return pipe == null ? undefined : new SyncCallPipe(pipe, events);
}
