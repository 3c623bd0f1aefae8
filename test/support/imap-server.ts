import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import type { Certificate } from './certificate.ts';

/** A message of a simulated mailbox. */
export interface StoredMessage {
  uid: number;
  raw: string;
  receivedMs: number;
  flags: Set<string>;
}

/** A simulated mail server (IMAP4rev1) with the commands for reading messages and setting flags. */
export interface ImapServer {
  port: number;
  /** Commands of clients with their arguments; LOGIN without its arguments. */
  commands: string[];
  /** Number of connections so far. */
  connectionCount: number;
  /** Adds a message. Returns its UID. */
  deliver(
    message: { subject?: string; from?: string; raw?: string; receivedMs?: number },
    mailbox?: string,
  ): number;
  /** Sets this UIDVALIDITY, and assigns new UIDs to all messages. */
  renumber(uidValidity: number): void;
  messages(mailbox?: string): readonly StoredMessage[];
  /** Sets what the server does at each command with this name. Undefined: it executes the command. */
  setBehaviour(command: string, behaviour: 'hang' | 'close' | 'huge' | 'no' | undefined): void;
  close(): Promise<void>;
}

export const IMAP_USER = 'ada@example.com';
export const IMAP_PASSWORD = 'kept-in-the-loom-4711';

interface Mailbox {
  messages: StoredMessage[];
  uidNext: number;
}

/** TLS from the first byte (implicit TLS), or after STARTTLS. Before STARTTLS, the server announces LOGINDISABLED. */
export interface ImapTls extends Certificate {
  mode: 'implicit' | 'starttls';
}

/** Starts a mail server, by default without TLS. The server ends with the test, unless `isShared` is true. */
export async function startImapServer({
  isShared = false,
  tls,
}: { isShared?: boolean; tls?: ImapTls } = {}): Promise<ImapServer> {
  const state = new ServerState(tls);
  const sockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    state.connectionCount += 1;
    new Session(state, socket).start();
  };
  const server = tls?.mode === 'implicit' ? createTlsServer(tls, accept) : createServer(accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  if (!isShared) onTestFinished(close);
  return {
    port: (server.address() as AddressInfo).port,
    commands: state.commands,
    get connectionCount() {
      return state.connectionCount;
    },
    deliver: (message, mailbox = 'INBOX') => state.deliver(message, mailbox),
    renumber: (uidValidity) => state.renumber(uidValidity),
    messages: (mailbox = 'INBOX') => state.mailbox(mailbox)?.messages ?? [],
    setBehaviour(command, behaviour) {
      if (behaviour) state.behaviours.set(command, behaviour);
      else state.behaviours.delete(command);
    },
    close,
  };
}

class ServerState {
  readonly tls: ImapTls | undefined;
  readonly commands: string[] = [];
  readonly behaviours = new Map<string, 'hang' | 'close' | 'huge' | 'no'>();
  connectionCount = 0;
  uidValidity = 7;
  readonly #mailboxes = new Map<string, Mailbox>([['INBOX', { messages: [], uidNext: 1 }]]);

  constructor(tls: ImapTls | undefined) {
    this.tls = tls;
  }

  mailbox(name: string): Mailbox | undefined {
    return this.#mailboxes.get(name.toUpperCase() === 'INBOX' ? 'INBOX' : name);
  }

  mailboxNames(): string[] {
    return [...this.#mailboxes.keys()];
  }

  deliver(
    {
      subject = 'Hello',
      from = 'Bob <bob@example.com>',
      raw,
      receivedMs = Date.now(),
    }: Parameters<ImapServer['deliver']>[0],
    name: string,
  ): number {
    const mailbox = this.mailbox(name) ?? { messages: [], uidNext: 1 };
    this.#mailboxes.set(name, mailbox);
    const uid = mailbox.uidNext;
    mailbox.uidNext += 1;
    const text = raw ?? createMessageText({ subject, from, id: `<${uid}@example.com>` });
    mailbox.messages.push({ uid, raw: text, receivedMs, flags: new Set() });
    return uid;
  }

  renumber(uidValidity: number): void {
    this.uidValidity = uidValidity;
    for (const mailbox of this.#mailboxes.values()) {
      for (const [index, message] of mailbox.messages.entries()) message.uid = index + 1;
      mailbox.uidNext = mailbox.messages.length + 1;
    }
  }
}

export function createMessageText({
  subject,
  from,
  id,
}: {
  subject: string;
  from: string;
  id: string;
}): string {
  return [
    `From: ${from}`,
    `To: ${IMAP_USER}`,
    `Subject: ${subject}`,
    `Message-ID: ${id}`,
    'Date: Thu, 01 Jan 2026 10:00:00 +0000',
    '',
    `The text of ${subject}.`,
    '',
  ].join('\r\n');
}

class Session {
  readonly #state: ServerState;
  #socket: Socket;
  #selectedMailbox: Mailbox | undefined;

  constructor(state: ServerState, socket: Socket) {
    this.#state = state;
    this.#socket = socket;
  }

  start(): void {
    this.#sendLine(`* OK [CAPABILITY ${this.#capabilities()}] ready`);
    this.#listen();
  }

  #capabilities(): string {
    const needsStartTls = this.#state.tls?.mode === 'starttls' && !(this.#socket instanceof TLSSocket);
    return needsStartTls ? 'IMAP4rev1 STARTTLS LOGINDISABLED' : 'IMAP4rev1';
  }

  /** Encrypts the rest of the session, if the server supports TLS. */
  #encrypt(tag: string): void {
    const { tls } = this.#state;
    if (!tls) return this.#sendLine(`${tag} BAD no TLS`);
    this.#sendLine(`${tag} OK begin`);
    this.#socket.removeAllListeners('data');
    this.#socket = new TLSSocket(this.#socket, { ...tls, isServer: true }).on('error', () => undefined);
    this.#listen();
  }

  #listen(): void {
    let unparsedText = '';
    this.#socket.on('data', (chunk) => {
      unparsedText += chunk.toString('latin1');
      for (let end = unparsedText.indexOf('\r\n'); end >= 0; end = unparsedText.indexOf('\r\n')) {
        const line = unparsedText.slice(0, end);
        unparsedText = unparsedText.slice(end + 2);
        this.#handle(line);
      }
    });
  }

  #sendLine(line: string): void {
    this.#socket.write(`${line}\r\n`, 'latin1');
  }

  #handle(line: string): void {
    const [tag = '', firstWord = '', ...words] = line.split(' ');
    const isUid = firstWord.toUpperCase() === 'UID';
    const command = (isUid ? `UID ${words.shift() ?? ''}` : firstWord).toUpperCase();
    const args = words.join(' ');
    this.#state.commands.push(command === 'LOGIN' ? 'LOGIN' : `${command} ${args}`.trim());
    const behaviour = this.#state.behaviours.get(command);
    if (behaviour === 'hang') return;
    if (behaviour === 'close') return void this.#socket.destroy();
    if (behaviour === 'huge') return this.#sendLine(`* 1 FETCH (BODY[] {999999999}`);
    if (behaviour === 'no') return this.#sendLine(`${tag} NO [SERVERBUG] not now, ${IMAP_PASSWORD}`);
    if (command === 'STARTTLS') return this.#encrypt(tag);
    this.#execute(tag, command, args);
  }

  #execute(tag: string, command: string, args: string): void {
    const sendOk = (text = 'done'): void => this.#sendLine(`${tag} OK ${text}`);
    switch (command) {
      case 'CAPABILITY':
        this.#sendLine(`* CAPABILITY ${this.#capabilities()}`);
        return sendOk();
      case 'LOGIN':
        return this.#login(tag, args);
      case 'NAMESPACE':
        this.#sendLine('* NAMESPACE (("" "/")) NIL NIL');
        return sendOk();
      case 'LIST':
        this.#list(args);
        return sendOk();
      case 'SELECT':
      case 'EXAMINE':
        return this.#select(tag, command, unquote(args));
      case 'UID SEARCH':
        this.#sendLine(`* SEARCH ${this.#search(args).join(' ')}`.trim());
        return sendOk();
      case 'FETCH':
      case 'UID FETCH':
        this.#fetch(args, command === 'UID FETCH');
        return sendOk();
      case 'UID STORE':
        this.#store(args);
        return sendOk();
      default:
        return sendOk();
    }
  }

  #login(tag: string, args: string): void {
    this.#sendLine(
      hasCredentials(args) ? `${tag} OK done` : `${tag} NO [AUTHENTICATIONFAILED] wrong: ${args}`,
    );
  }

  #list(args: string): void {
    // An empty pattern requests the separator.
    if (args.endsWith('""')) this.#sendLine('* LIST (\\Noselect) "/" ""');
    else for (const name of this.#state.mailboxNames()) this.#sendLine(`* LIST () "/" ${name}`);
  }

  #select(tag: string, command: string, name: string): void {
    const mailbox = this.#state.mailbox(name);
    if (!mailbox) return this.#sendLine(`${tag} NO [NONEXISTENT] no such mailbox`);
    this.#selectedMailbox = mailbox;
    this.#sendLine('* FLAGS (\\Seen)');
    this.#sendLine(`* ${mailbox.messages.length} EXISTS`);
    this.#sendLine(`* OK [UIDVALIDITY ${this.#state.uidValidity}] valid`);
    this.#sendLine(`* OK [UIDNEXT ${mailbox.uidNext}] next`);
    this.#sendLine(`${tag} OK [${command === 'EXAMINE' ? 'READ-ONLY' : 'READ-WRITE'}] selected`);
  }

  #search(args: string): number[] {
    const messages = this.#selectedMailbox?.messages ?? [];
    const words = [...args.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    const criteria: Criterion[] = [];
    for (let word = words.shift(); word !== undefined; word = words.shift())
      criteria.push(criterionOf(word, () => words.shift() ?? '', messages));
    return messages
      .filter((message, index) => criteria.every((criterion) => criterion(message, index + 1)))
      .map(({ uid }) => uid);
  }

  #fetch(args: string, isUid: boolean): void {
    const messages = this.#selectedMailbox?.messages ?? [];
    const [, range = '', items = ''] = /^(\S+) \(?(.*?)\)?$/.exec(args) ?? [];
    for (const [index, message] of messages.entries()) {
      const id = isUid ? message.uid : index + 1;
      if (!isInRange(range, id, isUid ? (messages.at(-1)?.uid ?? 0) : messages.length)) continue;
      this.#sendLine(`* ${index + 1} FETCH (${formatFetchItems(message, items).join(' ')})`);
    }
  }

  #store(args: string): void {
    const messages = this.#selectedMailbox?.messages ?? [];
    const [range = ''] = args.split(' ');
    for (const message of messages)
      if (isInRange(range, message.uid, messages.at(-1)?.uid ?? 0) && args.includes('\\Seen'))
        message.flags.add('\\Seen');
  }
}

type Criterion = (message: StoredMessage, seq: number) => boolean;

/** Returns the search criterion with the name `word`. `readArgument` returns the argument of the criterion. */
function criterionOf(
  word: string,
  readArgument: () => string,
  messages: readonly StoredMessage[],
): Criterion {
  const name = word.toUpperCase();
  if (name === 'ALL') return () => true;
  if (name === 'SEEN') return ({ flags }) => flags.has('\\Seen');
  if (name === 'UNSEEN') return ({ flags }) => !flags.has('\\Seen');
  if (/^[\d:*,]+$/.test(word)) return (_message, seq) => isInRange(word, seq, messages.length);
  const argument = readArgument();
  if (name === 'UID') return ({ uid }) => isInRange(argument, uid, messages.at(-1)?.uid ?? 0);
  if (name === 'SINCE') return ({ receivedMs }) => receivedMs >= Date.parse(`${argument} UTC`);
  if (name === 'FROM') return ({ raw }) => /^From:.*$/m.exec(raw)?.[0].includes(argument) ?? false;
  throw new Error(`The server does not know the criterion ${word}.`);
}

function hasCredentials(args: string): boolean {
  return args.includes(IMAP_USER) && args.includes(IMAP_PASSWORD);
}

/** Returns the requested items of a message, as FETCH lists them. */
function formatFetchItems({ uid, raw, receivedMs }: StoredMessage, items: string): string[] {
  const parts = [`UID ${uid}`];
  if (items.includes('RFC822.SIZE')) parts.push(`RFC822.SIZE ${raw.length}`);
  if (items.includes('INTERNALDATE')) parts.push(`INTERNALDATE "${formatInternalDate(receivedMs)}"`);
  const [, offset, count] = /BODY\.PEEK\[\]<(\d+)\.(\d+)>/.exec(items) ?? [];
  if (offset === undefined) return parts;
  const body = raw.slice(Number(offset), Number(offset) + Number(count));
  return [...parts, `BODY[]<${offset}> {${body.length}}\r\n${body}`];
}

function isInRange(ranges: string, value: number, maxValue: number): boolean {
  return ranges.split(',').some((range) => {
    const [start = 0, end = start] = range
      .split(':')
      .map((bound) => (bound === '*' ? maxValue : Number(bound)));
    return value >= Math.min(start, end) && value <= Math.max(start, end);
  });
}

function unquote(text: string): string {
  return text.replace(/^"(.*?)".*$/, '$1').split(' (')[0] ?? '';
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function formatInternalDate(ms: number): string {
  const [day = '', time = ''] = new Date(ms).toISOString().split('T');
  const [year, month, date] = day.split('-');
  return `${date}-${MONTHS[Number(month) - 1]}-${year} ${time.slice(0, 8)} +0000`;
}
