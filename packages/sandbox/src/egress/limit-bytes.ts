import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { EgressError } from './error.ts';

type Connector = buildConnector.connector;

/** Allowance for headers, chunk lengths and TLS overhead: a fixed size, and a factor of the size of the body. */
const OVERHEAD_BYTES = 2 ** 20;
const OVERHEAD_FACTOR = 2;

/**
 * Maximum number of bytes that the client parses in one step. A refused response is still parsed to the end of the
 * chunk, with an error for each header.
 */
const CHUNK_BYTES = 4_096;

/**
 * Closes connections that receive more for one request than a response of `maxBytes` can have. Otherwise a server could
 * keep its client busy without a body, with endless chunk extensions, informational responses or empty lines.
 */
export function limitBytes(connect: Connector, maxBytes: number): Connector {
  const limit = OVERHEAD_FACTOR * maxBytes + OVERHEAD_BYTES;
  return (options, callback) =>
    connect(options, (...args) => {
      const [error, socket] = args;
      if (error === null && socket !== null) {
        limitReceivedBytes(socket, options.host ?? options.hostname, limit);
        readInChunks(socket);
      }
      callback(...args);
    });
}

function limitReceivedBytes(socket: Socket, host: string, limit: number): void {
  let lastBytesWritten = -1;
  let bytesReadBefore = 0;
  socket.on('readable', () => {
    // Requests are sequential: bytes received before this request was written belong to the previous one.
    if (socket.bytesWritten !== lastBytesWritten) {
      lastBytesWritten = socket.bytesWritten;
      bytesReadBefore = socket.bytesRead;
    } else if (socket.bytesRead - bytesReadBefore > limit) {
      const excess = `more than ${limit} bytes including headers and framing`;
      socket.destroy(new EgressError('EGRESS_TOO_LARGE', `The response of ${host} has ${excess}.`));
    }
  });
}

/** Makes reads return small chunks, and nothing once the socket is destroyed. */
function readInChunks(socket: Socket): void {
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    if (socket.destroyed) return null;
    return read(size ?? (Math.min(socket.readableLength, CHUNK_BYTES) || undefined)) as unknown;
  };
}
