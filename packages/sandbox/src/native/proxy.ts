import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { isEgressError } from '../egress/error.ts';
import type { ByteQuota, EgressRequest, EgressResponse, Target } from '../egress/types.ts';
import { unlessAborted } from '../egress/unless-aborted.ts';

/** The requests that a proxy allows, and its quotas. */
export interface ProxyOptions {
  /** Sends a plain HTTP request. Throws EgressError. */
  readonly send: (request: EgressRequest, signal: AbortSignal) => Promise<EgressResponse>;
  /**
   * Resolves the target of a tunnel. Default: tunnels are refused, because their content cannot be inspected. Throws
   * EgressError.
   */
  readonly resolveTarget?: ((url: string) => Promise<Target>) | undefined;
  readonly maxRequests: number;
  /** Quota over all requests and tunnels, in both directions. */
  readonly maxBytes: number;
}

const FORBIDDEN = 403;
const TOO_MANY_REQUESTS = 429;
const BAD_GATEWAY = 502;
/** Maximum number of concurrent connections of one process tree. */
const MAX_SOCKETS = 64;

interface Refusal {
  readonly status: number;
  readonly message: string;
}

function refusalOf(error: unknown): Refusal {
  if (!isEgressError(error)) return { status: BAD_GATEWAY, message: 'The request could not be sent.' };
  return { status: error.code === 'EGRESS_DENIED' ? FORBIDDEN : BAD_GATEWAY, message: error.message };
}

/**
 * The network access of one process tree: an HTTP proxy on a Unix socket in a private folder. The tree has no
 * network, so names are resolved and addresses checked here.
 */
export class EgressProxy {
  readonly #options: ProxyOptions;
  readonly #folder = join(tmpdir(), `heddle-proxy-${randomBytes(6).toString('base64url')}`);
  /** A random name: other users may enter the folder but not list it. */
  readonly #name = `${randomBytes(9).toString('base64url')}.sock`;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #closeController = new AbortController();
  /** Quota of response bodies, shared by all concurrent requests. */
  readonly #byteQuota: ByteQuota;
  #requestCount = 0;
  #transferredBytes = 0;

  /** Returns a listening proxy. */
  static async open(options: ProxyOptions): Promise<EgressProxy> {
    const proxy = new EgressProxy(options);
    await proxy.listen();
    return proxy;
  }

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#byteQuota = { remainingBytes: options.maxBytes };
    this.#server = createServer((request, response) => void this.#respond(request, response));
    this.#server.maxConnections = MAX_SOCKETS;
    this.#server.on('connection', (socket) => this.#trackSocket(socket));
    this.#server.on(
      'connect',
      (request: IncomingMessage, socket: Socket, head: Buffer) => void this.#tunnel(request, socket, head),
    );
  }

  /** Path of the socket. */
  get path(): string {
    return process.platform === 'win32' ? `\\\\.\\pipe\\${this.#name}` : join(this.#folder, this.#name);
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    this.#closeController.abort();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Opens the socket and starts to listen. */
  async listen(): Promise<void> {
    await mkdir(this.#folder, { mode: 0o700 });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.path, resolve);
    });
    if (process.platform === 'win32') return;
    // The processes run as another user.
    await chmod(this.#folder, 0o711);
    await chmod(this.path, 0o666);
  }

  #trackSocket(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }

  /** Counts a request. Returns a refusal if the quota is exceeded. */
  #admit(): Refusal | undefined {
    this.#requestCount++;
    const { maxRequests, maxBytes } = this.#options;
    if (this.#requestCount > maxRequests)
      return { status: TOO_MANY_REQUESTS, message: `More than ${maxRequests} requests were made.` };
    return this.#transferredBytes > maxBytes
      ? { status: TOO_MANY_REQUESTS, message: `More than ${maxBytes} bytes were transferred.` }
      : undefined;
  }

  /** Counts the bytes received on a socket, and closes it if the quota is exceeded. */
  #countBytes(socket: Duplex): void {
    socket.on('data', (data: Buffer) => {
      this.#transferredBytes += data.length;
      if (this.#transferredBytes > this.#options.maxBytes) socket.destroy();
    });
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = ({ status, message }: Refusal): void => {
      if (response.headersSent) return void response.destroy();
      response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${message}\n`);
    };
    const refusal = this.#admit();
    if (refusal !== undefined) return refuse(refusal);
    try {
      const body = await this.#readBody(request);
      if (body === undefined)
        return refuse({
          status: TOO_MANY_REQUESTS,
          message: `More than ${this.#options.maxBytes} bytes were transferred.`,
        });
      const egressRequest: EgressRequest = {
        url: request.url ?? '',
        method: request.method ?? 'GET',
        headers: headerPairsOf(request.rawHeaders),
        body: body.length === 0 ? undefined : body,
        redirect: 'manual',
        byteQuota: this.#byteQuota,
      };
      const egressResponse = await this.#options.send(egressRequest, this.#closeController.signal);
      this.#transferredBytes += egressResponse.body.length;
      const headers = egressResponse.headers.filter(
        ([name]) => !/^(?:connection|keep-alive|transfer-encoding|content-length)$/.test(name),
      );
      response.writeHead(egressResponse.status, headers.flat());
      response.end(egressResponse.body);
    } catch (error) {
      refuse(refusalOf(error));
    }
  }

  /** Reads the body of a request; undefined if it exceeds the quota. */
  async #readBody(request: IncomingMessage): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) {
      this.#transferredBytes += chunk.length;
      if (this.#transferredBytes > this.#options.maxBytes) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  async #tunnel(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const refuse = ({ status, message }: Refusal): void => {
      const text = `${message}\n`;
      const length = Buffer.byteLength(text);
      socket.end(
        `HTTP/1.1 ${status} Refused\r\ncontent-type: text/plain\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${text}`,
      );
    };
    const { resolveTarget } = this.#options;
    const refusal = this.#admit();
    if (refusal !== undefined) return refuse(refusal);
    if (resolveTarget === undefined)
      return refuse({
        status: FORBIDDEN,
        message: 'This sandbox allows only http: requests; tunnels are refused.',
      });
    // Abort if the client disconnects or the job ends, so that no connection remains.
    const disconnectController = new AbortController();
    socket.on('close', () => disconnectController.abort());
    const signal = AbortSignal.any([disconnectController.signal, this.#closeController.signal]);
    try {
      const { url, addresses } = await unlessAborted(resolveTarget(`https://${request.url ?? ''}`), signal);
      const upstream = await dial(addresses, Number(url.port === '' ? 443 : url.port), signal);
      this.#trackSocket(upstream);
      this.#countBytes(upstream);
      this.#countBytes(socket);
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
      // Data that arrived with the request is forwarded and counted too.
      if (head.length > 0) socket.unshift(head);
      upstream.on('close', () => socket.destroy());
    } catch (error) {
      refuse(refusalOf(error));
    }
  }
}

/** Connects to the first address that answers. */
async function dial(addresses: Target['addresses'], port: number, signal: AbortSignal): Promise<Socket> {
  let lastError: unknown = new Error('There is no address.');
  for (const { address: host } of addresses) {
    try {
      return await new Promise<Socket>((resolve, reject) => {
        const socket = connect({ host, port, signal });
        socket.once('connect', () => resolve(socket));
        // This listener is not removed: a later abort is also reported as an error event.
        socket.on('error', reject);
      });
    } catch (error) {
      lastError = error;
    }
  }
  throw lastError;
}

function headerPairsOf(rawHeaders: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    pairs.push([rawHeaders[index] as string, rawHeaders[index + 1] as string]);
  return pairs;
}
