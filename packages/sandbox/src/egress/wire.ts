import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { EgressError } from './error.ts';

type Connector = buildConnector.connector;

/** What a response may have besides its body: heads, lengths of chunks, what the encryption adds. */
const FRAMING_BYTES = 2 ** 20;
const FRAMING_FACTOR = 2;

/** What the client parses at once: of a response that it has refused it goes on to the end of the piece, an error for each header. */
const PIECE_BYTES = 4_096;

/**
 * Ends connections on which more comes for one request than a response of `maxBytes` can have. A server need not send a body to
 * keep its client busy: parts of chunks that nobody reads, responses before the response and empty lines have no end otherwise.
 */
export function limitBytes(connect: Connector, maxBytes: number): Connector {
  const most = FRAMING_FACTOR * maxBytes + FRAMING_BYTES;
  return (options, callback) =>
    connect(options, (...args) => {
      const [error, socket] = args;
      if (error === null && socket !== null) {
        watch(socket, options.host ?? options.hostname, most);
        divide(socket);
      }
      callback(...args);
    });
}

function watch(socket: Socket, host: string, most: number): void {
  let written = -1;
  let before = 0;
  socket.on('readable', () => {
    // There is one request at a time: what came before it was written belongs to the one before.
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten;
      before = socket.bytesRead;
    } else if (socket.bytesRead - before > most) {
      const what = `more than ${most} bytes with all that is around its body`;
      socket.destroy(new EgressError('EGRESS_TOO_LARGE', `The response of ${host} has ${what}.`));
    }
  });
}

/** Gives what came in small pieces, and nothing once the connection has ended. */
function divide(socket: Socket): void {
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    if (socket.destroyed) return null;
    return read(size ?? (Math.min(socket.readableLength, PIECE_BYTES) || undefined)) as unknown;
  };
}
